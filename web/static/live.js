// Live figures of the answer being written: the times of its tokens, the
// place of the reader, and the pace over the last seconds.
import { Reader } from "./reader.js";

const WINDOW = 3; // seconds over which the pace is taken

export class Live {
  constructor(pace) {
    this.reader = new Reader(pace);
    this.arrivals = []; // of all tokens, thought included
    this.ends = []; // text length up to the end of each answer token
    this.origin = Infinity; // page clock, seconds, at the request's arrival
    this.prefill = null;
    this.queuedFor = 0;
  }

  // now is the time since the request's arrival on the server, as well as the
  // page can tell: the frame that took the least time on the way counts, so
  // that replayed frames do not shift it.
  now() { return performance.now() / 1000 - this.origin; }

  // text takes a Text frame; before and after are the lengths of the visible
  // answer around it.
  text(frame, before, after) {
    const groups = frame.tokens ?? [];
    const at = frame.at_s ?? [];
    const total = groups.reduce((a, b) => a + b, 0);
    let k = 0;
    groups.forEach((count, g) => {
      for (let j = 0; j < count; j++) {
        this.arrivals.push(at[g]);
        if (frame.thought) continue;
        this.reader.push(at[g]);
        this.ends.push(before + (after - before) * (++k / total));
      }
    });
    if (at.length) this.origin = Math.min(this.origin, performance.now() / 1000 - at[at.length - 1]);
    // text without a token of its own (the rest of a cut character) belongs
    // to the last token
    if (!frame.thought && this.ends.length) this.ends[this.ends.length - 1] = after;
  }

  // rate is the pace over the last seconds, or null. Between two tokens it
  // holds still; when the next is overdue it begins to fall.
  rate() {
    const a = this.arrivals;
    const n = a.length;
    if (n < 3) return null;
    const now = Math.min(Math.max(this.now(), a[n - 1]), a[n - 1] + 60);
    let first = n - 2;
    while (first > 0 && a[first - 1] >= now - WINDOW) first--;
    const span = a[n - 1] - a[first];
    const gap = span / (n - 1 - first);
    const end = this.reader.ended || now - a[n - 1] < 2 * gap ? a[n - 1] : now;
    return end > a[first] ? (n - 1 - first) / (end - a[first]) : null;
  }

  // place is how far into the visible text the reader is, in characters.
  place(read) {
    const i = Math.min(Math.floor(read), this.ends.length - 1);
    if (i < 0) return 0;
    const begin = i ? this.ends[i - 1] : 0;
    return begin + (this.ends[i] - begin) * Math.min(1, read - i);
  }
}
