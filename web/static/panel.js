// The instrument: gauge, the reader's row, the board; on a phone it is a
// sheet over the page.
import { $, morph, setText, duration } from "./dom.js";
import * as store from "./store.js";

const GAUGE_MAX = 20;
const GAUGE_WIDTH = 300;
const wide = matchMedia("(min-width: 62.5rem)");
let recent = [];

const x = (tps) => Math.min(Math.max(tps, 0), GAUGE_MAX) / GAUGE_MAX * GAUGE_WIDTH;

// pace moves the needle; null leaves it and dims it. live tells a pace of
// this moment from that of the last answer.
export function pace(tps, live) {
  const gauge = $("needle").closest(".gauge");
  gauge.toggleAttribute("data-idle", !live);
  if (tps === null) return;
  setText($("pace-now"), tps.toFixed(1));
  $("pace-now").removeAttribute("data-none");
  $("needle").setAttribute("transform", `translate(${x(tps).toFixed(1)} 0)`);
  $("fill").setAttribute("transform", `scale(${(x(tps) / GAUGE_WIDTH).toFixed(4)} 1)`);
}

// answered adds the mean pace of a finished answer as a faint tick.
export function answered(tps) {
  if (tps === undefined) return;
  recent = [...recent, tps].slice(-12);
  store.savePaces(recent);
  ticks();
}

function ticks() {
  $("ticks").replaceChildren(...recent.map((tps) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    Object.entries({ x1: x(tps), x2: x(tps), y1: 16, y2: 36 }).forEach(([k, v]) => line.setAttribute(k, v));
    return line;
  }));
}

// reader tells what the reader does: idle, ahead or waiting.
export function reader(state, words) {
  $("reader-row").dataset.state = state;
  setText($("reader-now"), words);
}

// figures fills in the times before the first token and the count; what is
// undefined stays.
export function figures({ first, queue, prefill, tokens }) {
  const put = (id, v, word = duration) => setText($(id), v === undefined || v === null ? "–" : word(v));
  put("first-token", first);
  put("queue-time", queue);
  put("prefill-time", prefill);
  put("token-count", tokens, String);
}

// vitals takes the server's fragments, once a second.
export function vitals(frame, answering) {
  morph($("board"), frame.html);
  morph($("line"), frame.line);
  morph($("board-notices"), frame.notices ?? "");
  if (answering) return;
  // another page's answer moves the needle too: it is this machine's pace
  if (frame.pace_tps !== undefined) pace(frame.pace_tps, true);
  else pace(null, false);
}

export function start() {
  recent = store.paces();
  ticks();
  pace(null, false);
  $("open-panel").addEventListener("click", open);
  $("close-panel").addEventListener("click", close);
  document.addEventListener("click", (e) => {
    const ask = e.target.closest?.("[data-note]");
    if (ask) note(ask.dataset.note);
    else if ($("panel").classList.contains("open") && !e.target.closest("#panel, #open-panel, dialog")) close();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !$("panel").classList.contains("open") || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    close();
  });
  wide.addEventListener("change", () => { if (wide.matches) close(); });
}

function setOpen(on) {
  $("panel").classList.toggle("open", on);
  $("open-panel").setAttribute("aria-expanded", String(on));
  document.querySelectorAll(".top, .talk, .foot").forEach((el) => { el.inert = on; });
}

function open() {
  setOpen(true);
  $("close-panel").focus();
}

function close() {
  if (!$("panel").classList.contains("open")) return;
  setOpen(false);
  if (!wide.matches) $("open-panel").focus();
}

// note opens the sheet of notes at one of them.
function note(key) {
  const dialog = $("notes");
  dialog.querySelectorAll(".asked").forEach((el) => el.classList.remove("asked"));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const el = key && $(`note-${key}`);
  if (!el) return;
  el.classList.add("asked");
  el.scrollIntoView({ block: "center" });
}
