// Keeps the page of a run under way current. Parts that have changed come over one stream of events; where there is
// none (an old browser, a proxy that holds it back), the page asks for them.
const root = document.querySelector("[data-live]");
const SILENCE = 25_000; // over twice the time between the stream's heartbeats
const ASKING = 2_000;
const CLOSED = 2; // the name for it is missing where streams are
let revision = Number(root.dataset.revision);
let ended = false;
let heard = Date.now();
let stream = null;

function replace(id, markup) {
  const old = document.getElementById(id);
  if (!old) return;
  const fresh = document.createElement("template");
  fresh.innerHTML = markup;
  const links = [...old.querySelectorAll("a")];
  const focused = links.indexOf(document.activeElement);
  const next = fresh.content.firstElementChild;
  old.replaceWith(next);
  if (focused >= 0) next.querySelectorAll("a")[focused]?.focus({ preventScroll: true });
}

function apply(change) {
  heard = Date.now();
  revision = change.revision;
  for (const [id, markup] of Object.entries(change.parts)) replace(id, markup);
  for (const element of document.querySelectorAll("[data-when]")) {
    element.hidden = !element.dataset.when.split(" ").includes(change.status);
  }
  if (change.ended) {
    ended = true;
    hush();
  }
  countDown();
  if (change.parts.figure || change.parts.chart) document.dispatchEvent(new CustomEvent("halflife:figures"));
}

function listen() {
  heard = Date.now();
  stream = new EventSource(`${root.dataset.live}/events?${root.dataset.query}&since=${revision}`);
  stream.addEventListener("message", (event) => apply(JSON.parse(event.data)));
  stream.addEventListener("heartbeat", () => (heard = Date.now()));
}

function hush() {
  stream?.close();
  stream = null;
}

async function ask() {
  const answer = await fetch(`${root.dataset.live}/changes?${root.dataset.query}&since=${revision}`).catch(() => null);
  if (answer?.ok) apply(await answer.json());
}

// A browser opens six connections to a server: pages out of sight give theirs back.
function attend() {
  if (document.hidden || ended) hush();
  else if (!stream && window.EventSource) listen();
}

async function watch() {
  const silent = !stream || stream.readyState === CLOSED || Date.now() - heard > SILENCE;
  if (!document.hidden && !ended && silent) {
    await ask();
    if (!ended && stream?.readyState === CLOSED) {
      hush();
      attend();
    }
  }
  if (!ended) setTimeout(watch, ASKING);
}

function countDown() {
  for (const time of document.querySelectorAll("time[data-until]")) {
    const seconds = Math.round((Date.parse(time.dateTime) - Date.now()) / 1000);
    time.textContent = seconds >= 1 ? `in ${seconds} s` : "now";
  }
}

document.addEventListener("visibilitychange", attend);
setInterval(countDown, 1000);
attend();
setTimeout(watch, ASKING);
