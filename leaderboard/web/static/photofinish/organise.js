// Beside a time that is typed in UTC: the same moment where the reader is.

function say(input, note) {
  const at = new Date(`${input.value}Z`);
  const here = { dateStyle: "medium", timeStyle: "short" };
  note.textContent = Number.isNaN(at.getTime()) ? "" : `${at.toLocaleString(undefined, here)} where you are`;
}

for (const input of document.querySelectorAll("input[data-utc]")) {
  const note = document.createElement("span");
  note.className = "local-time";
  input.after(note);
  input.addEventListener("input", () => say(input, note));
  say(input, note);
}
