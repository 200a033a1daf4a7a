// Small comforts on pages that work without them: theme toggle, tabs, copying, local times.

const root = document.documentElement;

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function wireTheme() {
  const toggle = document.querySelector(".theme-toggle");
  if (!toggle) return;
  const tell = () => toggle.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // the choice then lasts for this page only
    }
    tell();
  });
  tell();
}

function wireTabs(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const show = (chosen, focus) => {
    for (const tab of tabs) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) chosen.focus();
  };
  list.hidden = false;
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) show(tab, false);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.indexOf(document.activeElement);
    show(tabs[(at + step + tabs.length) % tabs.length], true);
  });
  show(tabs[0], false);
}

async function copy(button) {
  const text = document.getElementById(button.dataset.copy).textContent;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C";
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
  }
  setTimeout(() => { button.textContent = label; }, 1600);
}

export function localTimes(scope) {
  for (const time of scope.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.dataset.local) continue;
    time.dataset.local = "1";
    time.title = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
  for (const note of scope.querySelectorAll("[data-local-time]")) {
    const at = new Date(note.dataset.localTime);
    if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue; // it is said in UTC already
    note.textContent = `In your time zone: ${at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}.`;
  }
}

wireTheme();
localTimes(document);
document.querySelectorAll(".tabs").forEach(wireTabs);
document.addEventListener("click", (event) => {
  const copier = event.target.closest("[data-copy]");
  if (copier) copy(copier);
});
