// The live page of a submission: follows its event stream and moves the runner along the lane.
// EventSource reconnects by itself and sends Last-Event-ID; when the verdict is in, the page's own HTML is fetched once more.

import { localTimes } from "./site.js";

const ALL = ["queued", "claimed", "building", "checking", "timing", "done"];
const POLL_MS = 5000; // after a refusal (too many streams, a restart) EventSource gives up: ask for the submission itself
const POLLS = 6; // before the stream is tried again
let stream = null;
let turn = 0; // grows when another submission is followed: answers about an earlier one are then ignored
let finished = renew;

function station(state) {
  return document.querySelector(`.lane-list [data-state="${state}"]`);
}

function advance(live, state, at) {
  const order = ALL.filter(station); // test mode has no timing
  const here = order.indexOf(state);
  if (here < 0) return;
  if (state !== "queued") place(null);
  order.forEach((name, index) => {
    const item = station(name);
    item.classList.toggle("past", index < here);
    item.classList.toggle("now", index === here);
    if (index === here) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
    if (index > here) item.querySelector(".at").textContent = "";
  });
  const [, ...rest] = document.title.split(" · ");
  document.title = [station(state).querySelector(".state").textContent, ...rest].join(" · ");
  if (at) {
    const seconds = (new Date(at) - new Date(live.dataset.since)) / 1000;
    station(state).querySelector(".at").textContent = `+${seconds.toFixed(1)} s`;
  }
  progress(null);
}

// {done, total} while checking; {case, cases, quads, quads_at_most} while timing, which may stop before its most.
function share(data) {
  if (data && data.total > 0) return { part: data.done / data.total, text: `${data.done} / ${data.total}` };
  if (data && data.cases > 0) {
    const inside = data.quads_at_most > 0 ? (data.quads || 0) / data.quads_at_most : 0;
    return { part: (data.case - 1 + inside) / data.cases, text: `case ${data.case} of ${data.cases}` };
  }
  return null;
}

function progress(data) {
  const bar = document.getElementById("live-progress");
  const found = share(data);
  bar.hidden = !found;
  document.getElementById("live-count").textContent = found ? found.text : "";
  if (found && Number.isFinite(found.part)) bar.value = found.part;
}

function saidOf(live, state) {
  return live.dataset[`say${state[0].toUpperCase()}${state.slice(1)}`] || "";
}

function say(text) {
  const line = document.getElementById("live-message");
  if (text && line.textContent !== text) line.textContent = text;
}

// The place of a submission that waits for a runner.
function place(queue) {
  const line = document.getElementById("live-place");
  const text = queue ? queue.text : "";
  if (line && line.textContent !== text) line.textContent = text;
}

async function finish() {
  stop();
  return finished();
}

async function renew() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`the page answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("submission");
  document.getElementById("submission").replaceWith(document.adoptNode(fresh));
  document.title = page.title;
  localTimes(fresh);
  const verdict = document.getElementById("verdict-title");
  if (verdict) document.getElementById("announce").textContent = verdict.textContent;
}

export function stop() {
  if (stream) stream.close();
  stream = null;
  turn += 1;
}

// Follows the submission of this element, and calls `ended` once its verdict is in.
export function watch(live, ended) {
  stop();
  finished = ended;
  follow(live);
}

async function poll(live, left, etag, began) {
  if (began !== turn) return;
  if (left === 0) return follow(live);
  const again = (tag) => setTimeout(() => poll(live, left - 1, tag, began), POLL_MS);
  try {
    const headers = etag ? { "If-None-Match": etag } : {};
    const answer = await fetch(live.dataset.events.replace(/\/events$/, ""), { headers });
    if (began !== turn) return;
    if (!answer.ok) return again(etag); // 304: nothing is new
    const found = await answer.json();
    document.getElementById("live-link").textContent = "";
    if (found.status === "done" || found.status === "cancelled") return finish().catch(() => location.reload());
    advance(live, found.status, null);
    say(found.message || saidOf(live, found.status));
    place(found.queue);
    again(answer.headers.get("ETag") || "");
  } catch {
    again(etag);
  }
}

function follow(live) {
  const [followed, began] = [new EventSource(live.dataset.events), turn];
  stream = followed;
  followed.addEventListener("state", (event) => {
    const data = JSON.parse(event.data);
    advance(live, data.state, data.at);
    say(data.message || saidOf(live, data.state));
  });
  followed.addEventListener("queue", (event) => place(JSON.parse(event.data)));
  followed.addEventListener("progress", (event) => {
    const data = JSON.parse(event.data);
    say(data.message && `${saidOf(live, data.state).replace(/\.$/, "")}: ${data.message}`);
    progress(data.data);
  });
  followed.addEventListener("done", () => finish().catch(() => location.reload()));
  followed.addEventListener("open", () => { document.getElementById("live-link").textContent = ""; });
  followed.addEventListener("error", () => {
    document.getElementById("live-link").textContent = "Reconnecting …";
    if (followed.readyState === EventSource.CLOSED) setTimeout(() => poll(live, POLLS, "", began), POLL_MS);
  });
}

const live = document.querySelector("[data-events]");
if (live) follow(live);
