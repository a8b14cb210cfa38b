// What the page says of a reply while it is being written, at most four times
// a second: before the first token, and after it.
import { duration, setText } from "./dom.js";
import * as panel from "./panel.js";

const ORDINAL = ["", "Next in line", "Second in line", "Third in line"];

// progress tells what happens before the first token.
export function progress(r, f) {
  const about = f.estimate_s ? `, about ${duration(f.estimate_s)}` : "";
  if (f.type === "queued") {
    r.view.waiting((ORDINAL[f.place] ?? `Number ${f.place} in line`) + about);
  } else if (f.type === "prefilling") {
    const share = f.prompt_tokens ? Math.min(1, f.done / f.prompt_tokens) : 0;
    r.view.leftOut(f.left_out ?? 0);
    r.view.waiting(`Reading your message ${Math.round(100 * share)} %${about}`, share);
  }
}

// show puts the present figures of a reply on the page.
export function show(r, over) {
  const { live, view } = r;
  const n = live.arrivals.length;
  if (!n) return;
  const rate = live.rate();
  const at = live.reader.where(live.now());
  const words = readerWords(live.reader, at, over);
  if (!over) {
    view.live.hidden = false;
    view.live.dataset.state = at.waiting ? "waiting" : "ahead";
    const put = (cls, text) => setText(view.live.querySelector(cls), text);
    put(".tps", rate === null ? "– tok/s" : `${rate.toFixed(1)} tok/s`);
    put(".count", n === 1 ? "1 token" : `${n} tokens`);
    put(".first-word", `first token ${duration(live.arrivals[0])}`);
    put(".reader-word", words);
    panel.pace(rate, true);
    panel.figures({ first: live.arrivals[0], tokens: n });
  }
  panel.reader(over && !live.reader.arrivals.length ? "idle" : at.waiting || (over && live.reader.waited > 0) ? "waiting" : "ahead", words);
}

// readerWords says what the reader does. Once he has waited, that stays to be
// seen: it is what the verdict will say.
function readerWords(reader, at, over) {
  if (!reader.arrivals.length) return over ? "No answer." : "Thinking, the reader has not begun.";
  if (over) return reader.waited >= .05 ? `reader waited ${duration(reader.waited)}` : "reader never waited";
  if (at.waiting) return at.waited >= .05 ? `reader waiting ${duration(at.waited)}` : "reader at the end";
  if (at.waited >= .5) return `reader waited ${duration(at.waited)}`;
  return `${duration(at.ahead)} of text ahead`;
}
