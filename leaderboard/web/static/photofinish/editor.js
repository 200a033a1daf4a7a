// The submit page and the form of a match: a code editor in place of the textarea, drafts, and the live verdict beside it on wide screens.
// Without this script the page is a plain form. The editor lives in a shadow root: its styles are then adopted style
// sheets, which the content policy allows.

import { localTimes } from "./site.js";
import { stop, watch } from "./live.js";
import {
  bracketMatching, closeBrackets, closeBracketsKeymap, cppLanguage, crosshairCursor, defaultKeymap, drawSelection,
  dropCursor, EditorState, EditorView, foldGutter, foldKeymap, forEachDiagnostic, HighlightStyle, highlightActiveLine,
  highlightActiveLineGutter, highlightSelectionMatches, highlightSpecialChars, history, historyKeymap, indentOnInput,
  indentUnit, indentWithTab, keymap, lineNumbers, lintGutter, lintKeymap, pythonLanguage, rectangularSelection, search,
  searchKeymap, setDiagnostics, syntaxHighlighting, tags,
} from "../vendor/codemirror.js";

const MAX_BYTES = 1_000_000; // of a source file; the server counts again
const DRAFT_MS = 1500; // without a key
const DRAFT_EVERY_MS = 4000; // at the least, between two saves
const KEEPALIVE_BYTES = 60_000; // most that a browser sends for a page that closes
const WIDE = matchMedia("(min-width: 75rem)");
const FROM_SYNTAX = "syntax";
const FROM_VERDICT = "verdict";

const form = document.getElementById("submit-form");
const area = document.getElementById("id_code");
const pane = document.getElementById("pane");
const frame = document.getElementById("editor");
const isPlain = "plain" in form.dataset; // the form of a match leads to a page of its own
const note = document.getElementById("draft-note");
const filename = form.querySelector("[data-filename]");
const remix = form.querySelector("input[name=remixed_from]"); // a checkbox; null: the code is no remix

const look = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "0.875rem", height: "100%" },
  "&.cm-focused": { outline: "3px solid var(--link)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunk)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--sunk) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--line)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--link) 28%, transparent)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--warn)", color: "var(--paper)" },
  ".cm-selectionMatch": { backgroundColor: "var(--warn-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--good-soft)", color: "var(--good)" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { fontFamily: "var(--sans)", padding: "0.4rem 1.8rem 0.4rem 0.5rem" },
  ".cm-panel.cm-search label": { fontSize: "0.8125rem" },
  ".cm-panel.cm-search [name=close]": { color: "var(--ink)", fontSize: "1.2rem" },
  ".cm-textfield": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)", fontSize: "0.875rem" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "4px", fontSize: "0.8125rem" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)", maxWidth: "36rem" },
  ".cm-diagnostic": { fontFamily: "var(--mono)", fontSize: "0.8125rem", whiteSpace: "pre-wrap" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunk)", color: "var(--muted)", borderColor: "var(--line)" },
});
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.character], color: "var(--code-string)" },
  { tag: [tags.comment, tags.docString], color: "var(--code-comment)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.variableName), tags.className, tags.typeName, tags.processingInstruction], color: "var(--code-name)" },
  { tag: [tags.meta], color: "var(--code-comment)" },
]);

function language() {
  return /\.(cu|cuh|cpp|cc|c|h|hpp)$/.test(filename.value || frame.dataset.wanted) ? cppLanguage : pythonLanguage;
}

function stateOf(text) {
  return EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), foldGutter(), drawSelection(),
      dropCursor(), EditorState.allowMultipleSelections.of(true), indentOnInput(), bracketMatching(), closeBrackets(),
      rectangularSelection(), crosshairCursor(), highlightActiveLine(), highlightSelectionMatches(), lintGutter(),
      search({ top: true }), language(), indentUnit.of("    "), EditorState.tabSize.of(4), look,
      syntaxHighlighting(colours),
      keymap.of([
        { key: "Mod-Enter", run: () => { form.requestSubmit(); return true; } },
        ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of({
        "aria-label": "Code", "aria-description": "Tab indents. Press Escape, then Tab, to leave the editor.",
        autocapitalize: "none", autocorrect: "off", spellcheck: "false", tabindex: "0",
      }),
      EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
    ],
  });
}

const root = frame.attachShadow({ mode: "open" });
const view = new EditorView({ state: stateOf(area.value), root, parent: root });
area.hidden = true;
area.removeAttribute("id"); // the label then names the editor alone
frame.classList.add("on");
document.getElementById("code-label").addEventListener("click", () => view.focus());

const text = () => view.state.doc.toString();

function replace(wanted) {
  if (remix) remix.checked = false; // a starter or file need not build on the original; the box can be ticked again
  view.setState(stateOf(wanted));
  changed();
}

// Line markers. `column` counts from 1; without it the whole line is marked.
function marked(line, message, source, column) {
  const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
  const from = column ? Math.min(at.from + column - 1, at.to) : at.from;
  return { from, to: column ? Math.min(from + 1, at.to) : at.to, severity: source === FROM_SYNTAX ? "error" : "warning", message, source };
}

function mark(source, found) {
  const kept = [];
  forEachDiagnostic(view.state, (diagnostic, from, to) => {
    if (diagnostic.source !== source) kept.push({ ...diagnostic, from, to });
  });
  view.dispatch(setDiagnostics(view.state, [...kept, ...found].sort((one, other) => one.from - other.from)));
}

function markVerdict(json) {
  mark(FROM_VERDICT, JSON.parse(json || "[]").map(([line, message]) => marked(line, `Last verdict: ${message}`, FROM_VERDICT)));
}

// Drafts
let timer = 0;
let isDirty = false;
let savedAt = 0;

function changed() {
  isDirty = true;
  clearTimeout(timer);
  timer = setTimeout(save, Math.max(DRAFT_MS, savedAt + DRAFT_EVERY_MS - Date.now()));
}

// Signing in again renews the token of forms. Until the page has shown that its person is signed out, their former token
// keeps the code from the account of somebody who signs in meanwhile.
const SIGNED_OUT = "you are signed out; sign in again in another tab";
let isSignedOut = false;

function dataOf(sender) {
  const data = new FormData(sender);
  const token = isSignedOut && document.cookie.match(/(?:^|; )csrftoken=(\w+)/)?.[1];
  if (token) data.set("csrfmiddlewaretoken", token);
  return data;
}

function draftOf() {
  area.value = text();
  const data = dataOf(form);
  for (const name of ["file", "licence"]) data.delete(name);
  return data;
}

async function save() {
  if (!isDirty) return;
  isDirty = false;
  savedAt = Date.now();
  const state = view.state;
  try {
    const answer = await fetch(form.dataset.draft, { method: "POST", body: draftOf(), headers: { Accept: "application/json" } });
    isSignedOut ||= answer.redirected;
    if (answer.redirected) throw new Error(SIGNED_OUT);
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(found.detail || `the site answered ${answer.status}`);
    const fault = found.fault;
    note.textContent = found.saved_at ? `Draft saved ${new Date(found.saved_at).toLocaleTimeString()}.` : "";
    if (fault) note.textContent += ` Line ${fault.line}: ${fault.message}.`;
    note.classList.toggle("error", Boolean(fault));
    if (state.doc.eq(view.state.doc)) mark(FROM_SYNTAX, fault ? [marked(fault.line, fault.message, FROM_SYNTAX, fault.column)] : []);
  } catch (error) {
    isDirty = true;
    note.textContent = `The draft is not saved: ${error.message}.`;
    note.classList.add("error");
  }
}

addEventListener("pagehide", () => {
  if (!isDirty || view.state.doc.length > KEEPALIVE_BYTES) return;
  fetch(form.dataset.draft, { method: "POST", body: draftOf(), keepalive: true }).catch(() => {});
});

// A chosen file is shown in the editor, so that what is sent is what is seen; files that are no text are sent as they are.
async function showFile(input) {
  const file = input.files[0];
  const about = document.querySelector("[data-drop-note]");
  const isTooLarge = Boolean(file) && file.size > MAX_BYTES;
  about.classList.toggle("error", isTooLarge);
  if (isTooLarge) {
    const bytes = (count) => count.toLocaleString("en");
    about.textContent = `${file.name} has ${bytes(file.size)} bytes; a submission has at most ${bytes(MAX_BYTES)}. Choose another file.`;
  }
  if (!file || isTooLarge) return;
  try {
    const read = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    filename.value = file.name;
    replace(read);
    input.value = "";
    about.textContent = `${file.name} is in the editor below.`;
  } catch {
    // the server says what is wrong with it
  }
}

function wireDrop(zone) {
  const input = zone.querySelector("input[type=file]");
  for (const kind of ["dragenter", "dragover"]) {
    zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  }
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) {
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  input.addEventListener("change", () => showFile(input));
  if (input.files.length) showFile(input); // chosen before this script ran
}

function fill(link) {
  const starter = document.getElementById(link.dataset.fill).textContent;
  if (text().trim() && text() !== starter && !confirm("Replace the code in the editor?")) return;
  filename.value = "";
  const place = link.closest("[data-hardware]").dataset.hardware;
  const choice = form.querySelector(`input[name=hardware][value="${CSS.escape(place)}"]`);
  if (choice) choice.checked = true;
  replace(starter);
  view.focus();
}

function showStarters() {
  const chosen = form.querySelector("input[name=hardware]:checked")?.value;
  const groups = [...form.querySelectorAll(".starters[data-hardware]")];
  const fits = groups.some((group) => group.dataset.hardware === chosen);
  for (const group of groups) group.hidden = fits && group.dataset.hardware !== chosen;
}

// The live verdict beside the editor
const KEPT = ["form-notice", "file-errors", "code-errors", "options"]; // parts of the page that a refusal renews

function isWide() {
  return WIDE.matches;
}

function renew(page, ids) {
  for (const id of ids) {
    const fresh = page.getElementById(id);
    if (fresh) document.getElementById(id).replaceWith(document.adoptNode(fresh));
  }
  showStarters();
  localTimes(form);
}

async function pageOf(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function place(page, address) {
  const fresh = page.getElementById("submission");
  if (!fresh) return location.assign(address);
  stop();
  for (const part of fresh.querySelectorAll(".page-only")) part.remove();
  for (const heading of fresh.querySelectorAll("h1")) {
    const lower = document.createElement("h2");
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
  if (fresh.querySelector(".welcome-bar")) document.querySelector("main > .welcome-bar")?.remove();
  pane.replaceChildren(document.adoptNode(fresh));
  pane.hidden = false;
  document.getElementById("workbench").classList.add("two-sided");
  document.documentElement.classList.add("wide-page");
  localTimes(pane);
  wirePane(address);
}

function wirePane(address) {
  for (const sender of pane.querySelectorAll("form[data-send]")) {
    sender.addEventListener("submit", (event) => {
      event.preventDefault();
      post(sender);
    });
  }
  const marks = pane.querySelector("[data-marks]");
  if (marks) markVerdict(marks.dataset.marks);
  const live = pane.querySelector("[data-events]");
  if (live) watch(live, () => show(address));
}

async function show(address, isNews = true) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = await pageOf(answer);
  const title = page.title;
  place(page, address);
  if (!isNews) return;
  document.title = title;
  const verdict = document.getElementById("verdict-title");
  if (verdict) document.getElementById("said").textContent = verdict.textContent;
}

function warn(sentence) {
  const notice = document.createElement("div");
  notice.className = "notice bad";
  notice.setAttribute("role", "alert");
  notice.textContent = sentence;
  document.getElementById("form-notice").replaceChildren(notice);
  notice.scrollIntoView({ block: "nearest" });
}

async function post(sender) {
  const buttons = sender.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    const sent = view.state.doc;
    const answer = await fetch(sender.action, { method: "POST", body: dataOf(sender) });
    const page = await pageOf(answer);
    if (answer.ok && page.getElementById("submission")) {
      if (sender === form && view.state.doc.eq(sent)) {
        isDirty = false;
        note.textContent = "";
      } else if (sender === form) changed(); // typed meanwhile: the site has dropped the draft
      document.getElementById("origin")?.remove();
      mark(FROM_SYNTAX, []);
      mark(FROM_VERDICT, []);
      document.title = page.title;
      place(page, new URL(answer.url).pathname);
      document.getElementById("said").textContent = "Sent. The verdict appears beside the editor.";
      const chosen = new URLSearchParams({ mode: form.elements.mode.value, hardware: form.elements.hardware.value });
      const again = await fetch(`${form.action}?${chosen}`);
      if (again.ok) renew(await pageOf(again), KEPT);
    } else if (page.getElementById("options")) {
      renew(page, KEPT);
      document.getElementById("form-notice").scrollIntoView({ block: "nearest" });
    } else if (answer.redirected && !new URL(answer.url).pathname.startsWith("/submissions/")) {
      isSignedOut = true;
      warn(`Not sent: ${SIGNED_OUT}, then send it from here.`);
    } else if (answer.redirected) {
      isDirty = false;
      location.assign(answer.url); // the code was taken, and its page failed
    } else {
      sender.submit(); // a page of its own explains the refusal
    }
  } catch {
    warn("The site does not answer. It may have taken the code: look at your submissions before you send again.");
  } finally {
    for (const button of buttons) button.disabled = false;
    if (isDirty) changed(); // not sent
  }
}

form.addEventListener("submit", (event) => {
  area.value = text();
  clearTimeout(timer);
  if (isPlain || !isWide() || form.querySelector("input[type=file]").files.length) {
    isDirty = false; // the next page saves refused code
    return;
  }
  event.preventDefault();
  post(form);
});
form.addEventListener("click", (event) => {
  const filler = event.target.closest("[data-fill]");
  if (!filler) return;
  event.preventDefault();
  fill(filler);
});
form.addEventListener("change", showStarters);
remix?.addEventListener("change", changed);

const said = document.createElement("div");
said.id = "said";
said.className = "visually-hidden";
said.setAttribute("role", "status");
form.before(said);
document.querySelectorAll(".drop").forEach(wireDrop);
showStarters();
markVerdict(frame.dataset.marks);
if (document.querySelector("#form-notice .notice")) changed(); // refused code is not in the draft
if (!isPlain && isWide() && pane.dataset.verdict) show(pane.dataset.verdict, false);
