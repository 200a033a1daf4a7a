// A board or a match follows new results: it polls a digest, and reads its tables again when the digest has changed.
// A hidden page does not poll, a failing one waits longer each time, and a page that nobody touches stops after hours.

import { fold, localTimes } from "./site.js";

const POLL_MS = 15_000;
const LEAST_MS = 2_000;
const SLOWEST_MS = 240_000;
const MOST_MS = 8 * 3_600_000;
const since = Date.now();
let wait = POLL_MS;
let timer = null;
let last = 0; // of a look: a page that is shown and hidden in turn asks no more often

const rows = (part) => new Map([...part.querySelectorAll("table.ranking tbody tr")].map((row) => {
  const name = row.querySelector("td.name a");
  return [name.textContent, row];
}));

function told(before, after) {
  const first = [...after.keys()][0];
  const fresh = [...after].filter(([name, row]) => {
    const old = before.get(name);
    return !old || old.querySelector(".speedup").textContent !== row.querySelector(".speedup").textContent;
  });
  for (const [, row] of fresh) row.classList.add("fresh");
  const names = fresh.map(([name, row]) => `${name} ${row.querySelector(".speedup").textContent.trim()}`);
  return `The table has changed. ${names.length ? `New: ${names.slice(0, 5).join(", ")}. ` : ""}${first ? `${first} leads.` : ""}`;
}

async function renew(part) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`the page answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = document.adoptNode(page.getElementById("board-live"));
  const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  document.getElementById("board-news").textContent = told(rows(part), rows(fresh));
  const isOpen = part.querySelector("[data-fold][aria-expanded=true]");
  part.replaceWith(fresh);
  const folder = fresh.querySelector("[data-fold]");
  if (isOpen && folder) fold(folder, true);
  localTimes(fresh);
  if (focused) fresh.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

async function look() {
  clearTimeout(timer);
  const part = document.getElementById("board-live");
  if (Date.now() - since > MOST_MS) return;
  if (!document.hidden) {
    last = Date.now();
    try {
      const answer = await fetch(part.dataset.pulse);
      if (!answer.ok) throw new Error(`the site answered ${answer.status}`);
      const { digest } = await answer.json();
      if (digest !== part.dataset.digest) await renew(part);
      wait = POLL_MS;
    } catch {
      wait = Math.min(2 * wait, SLOWEST_MS);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(look, wait);
}

timer = setTimeout(look, POLL_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && Date.now() - last > LEAST_MS) look();
});
