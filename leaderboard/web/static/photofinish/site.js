// Small comforts on pages that work without them: theme, tabs, copying, long tables, local times.

const root = document.documentElement;

// A click leads from the system's theme to the other one, then to the system's kind for good, then back to the system.
function wireTheme() {
  const toggle = document.querySelector(".theme-toggle");
  if (!toggle) return;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kind = () => (system.matches ? "dark" : "light");
  const next = () => ({ "": kind() === "dark" ? "light" : "dark", [kind()]: "" })[root.dataset.theme ?? ""] ?? kind();
  const tell = () => {
    toggle.title = `Theme: ${root.dataset.theme ?? "as your system"}`;
    toggle.setAttribute("aria-label", `Switch to ${next() ? `the ${next()}` : "your system’s"} theme`);
  };
  toggle.addEventListener("click", () => {
    const chosen = next();
    if (chosen) root.dataset.theme = chosen;
    else delete root.dataset.theme;
    try {
      if (chosen) localStorage.setItem("theme", chosen);
      else localStorage.removeItem("theme");
    } catch {
      // the choice then lasts for this page only
    }
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}

function wireTabs(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const panel = (tab) => `#${tab.getAttribute("aria-controls")}`;
  const show = (chosen) => {
    for (const tab of tabs) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    }
  };
  const choose = (tab) => {
    show(tab);
    tab.focus();
    history.replaceState(history.state, "", panel(tab)); // an address to share
  };
  list.hidden = false;
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.indexOf(document.activeElement);
    choose(tabs[(at + step + tabs.length) % tabs.length]);
  });
  show(tabs.find((tab) => panel(tab) === location.hash) ?? tabs[0]);
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

// Dates are written in UTC. Where the browser's clock differs, its own time stands beside them.
export function localTimes(scope) {
  for (const time of scope.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.dataset.local) continue;
    time.dataset.local = "1";
    time.title = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
    if (!("utc" in time.dataset) || at.getTimezoneOffset() === 0) continue;
    const form = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
    if (at.getDate() !== at.getUTCDate()) Object.assign(form, { day: "numeric", month: "short" });
    time.append(` (${at.toLocaleString(undefined, form)})`);
  }
}

export function fold(button, open) {
  document.getElementById(button.getAttribute("aria-controls")).classList.toggle("folded", !open);
  button.setAttribute("aria-expanded", String(open));
  [button.textContent, button.dataset.fold] = [button.dataset.fold, button.textContent];
}

// The value of a slider whose form is sent by a button, while it is drawn.
function wireSlider(form) {
  const [slider, output] = [form.querySelector("input[type=range]"), form.querySelector("output")];
  slider.addEventListener("input", () => {
    output.textContent = `${slider.valueAsNumber}×`;
    slider.setAttribute("aria-valuetext", output.textContent);
  });
}

wireTheme();
localTimes(document);
document.querySelectorAll(".tabs").forEach(wireTabs);
document.querySelectorAll("form.slider").forEach(wireSlider);
document.addEventListener("click", (event) => {
  const copier = event.target.closest("[data-copy]");
  if (copier) copy(copier);
  const folder = event.target.closest("[data-fold]");
  if (folder) fold(folder, folder.getAttribute("aria-expanded") === "false");
});
