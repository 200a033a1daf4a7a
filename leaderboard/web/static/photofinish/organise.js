// Beside a time that is typed in UTC: the same moment where the reader is. Of a track: only what its kind needs.
// An address follows the name until somebody types one.

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

const kind = document.getElementById("id_kind");
function narrow() {
  for (const part of document.querySelectorAll("[data-kinds]")) {
    part.hidden = !part.dataset.kinds.split(" ").includes(kind.value) && !part.querySelector(".error");
  }
}
if (kind) {
  kind.addEventListener("change", narrow);
  narrow();
}

const name = document.getElementById("id_name");
const slug = document.getElementById("id_slug");
if (name && slug) {
  let follows = !slug.value;
  slug.addEventListener("input", () => { follows = !slug.value; });
  name.addEventListener("input", () => {
    const plain = name.value.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
    if (follows) slug.value = plain.replace(/[^a-z0-9]+/g, "-").slice(0, slug.maxLength).replace(/^-|-$/g, "");
  });
}
