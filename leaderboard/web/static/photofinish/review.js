// Keys of reviewers: all of it is links and buttons too. Nothing happens while somebody types, or with Ctrl, Alt or Meta.

const rows = [...document.querySelectorAll("tr[data-case]")];
const OPENS = { y: "clear", n: "reject", a: "ask" };

function move(step) {
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  next?.querySelector("a").focus();
}

function claim() {
  const row = rows.find((one) => one.contains(document.activeElement));
  const button = row ? row.querySelector("[data-claim]") : document.querySelector("form[data-act=claim] button");
  const folded = button?.closest("details:not([open])");
  if (folded) open(folded);
  else button?.click();
}

function open(details) {
  details.open = true;
  details.querySelector("select, textarea, button")?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  const details = OPENS[event.key] && document.querySelector(`form[data-act=${OPENS[event.key]}]`)?.closest("details");
  if (rows.length && event.key === "j") move(1);
  else if (rows.length && event.key === "k") move(-1);
  else if (event.key === "c") claim();
  else if (event.key === "u" && document.querySelector("[data-back]")) document.querySelector("[data-back]").click();
  else if (details) open(details);
  else return;
  event.preventDefault();
});
