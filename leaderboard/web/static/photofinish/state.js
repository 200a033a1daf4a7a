// The live page of queue and hosts: asks for its JSON every few seconds and fills in what changed.
// A line that came or went is shown by loading the page again. Without this script the page reloads itself.

const EVERY_MS = 4000;
const page = document.querySelector("[data-state]");

function found(data, path) {
  return path.split("/").reduce((value, key) => value?.[decodeURIComponent(key)], data);
}

function sorted(names) {
  return names.filter(Boolean).sort().join(" ");
}

function keys(data) {
  return sorted([...Object.keys(data.queues), "/", ...Object.keys(data.runners)]);
}

function fill(data) {
  for (const cell of page.querySelectorAll("[data-live]")) {
    const text = String(found(data, cell.dataset.live) ?? "");
    if (cell.textContent !== text) cell.textContent = text;
  }
  for (const chip of page.querySelectorAll("[data-live-tone]")) {
    chip.className = `chip ${found(data, chip.dataset.liveTone) ?? ""}`.trim();
  }
}

async function ask() {
  const note = document.getElementById("state-note");
  try {
    const answer = await fetch(page.dataset.state, { headers: { Accept: "application/json" } });
    if (answer.redirected || !answer.ok) throw new Error(`answered ${answer.status}`);
    const data = await answer.json();
    if (keys(data) !== sorted(page.dataset.keys.split(" "))) location.reload();
    fill(data);
    note.textContent = `As of ${new Date(data.at).toLocaleTimeString()}, updated every few seconds.`;
  } catch {
    note.textContent = "The site does not answer; trying again.";
  }
}

function later() {
  setTimeout(async () => {
    if (!document.hidden) await ask();
    later();
  }, EVERY_MS);
}

if (page) later();
