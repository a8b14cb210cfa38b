// The reader of an answer, by the formulas of package llm/reader: token i
// (from 1) arrives at a_i; the reader starts at a_1 and reads r tokens/s.

// wait is W(r) = max over i of a_i - a_1 - (i-1)/r, at least 0: seconds a
// reader of pace r waits in all.
export function wait(arrivals, pace) {
  let w = 0;
  if (!(pace > 0)) return w;
  arrivals.forEach((a, i) => { w = Math.max(w, a - arrivals[0] - i / pace); });
  return w;
}

const HELD = .3; // seconds of text ahead below which a reader who has waited is held up

// Reader is the same, token by token, together with the place in the text.
export class Reader {
  constructor(pace) {
    this.pace = pace;
    this.arrivals = []; // a_i, seconds since the request's arrival
    this.begun = []; // s_i = max(a_i, s_(i-1) + 1/r): when token i is begun
    this.waited = 0; // W(r) so far
    this.at = 0; // index into begun, for where()
    this.ended = false; // no further token will come
  }

  push(a) {
    const i = this.arrivals.length;
    this.arrivals.push(a);
    this.begun.push(i ? Math.max(a, this.begun[i - 1] + 1 / this.pace) : a);
    this.waited = Math.max(this.waited, a - this.arrivals[0] - i / this.pace);
  }

  // setPace begins anew with another reader, who started at the same moment.
  setPace(pace) {
    if (pace === this.pace) return;
    const arrivals = this.arrivals;
    Object.assign(this, { pace, arrivals: [], begun: [], waited: 0, at: 0 });
    arrivals.forEach((a) => this.push(a));
  }

  // where is the reader at time now: tokens read (a fraction within a token),
  // seconds of reading that lie ahead, seconds waited in all, and whether the
  // reader is held up: at a slow pace every token ends a short wait and begins
  // the next, which is one state to look at and not a flicker of two.
  where(now) {
    const n = this.arrivals.length;
    if (!n || now < this.begun[0]) return { read: 0, ahead: n / this.pace, waited: 0, waiting: false }; // nothing to read yet
    while (this.at + 1 < n && this.begun[this.at + 1] <= now) this.at++;
    while (this.at > 0 && this.begun[this.at] > now) this.at--;
    const read = this.at + Math.min(1, (now - this.begun[this.at]) * this.pace);
    const ahead = (n - read) / this.pace;
    const atEnd = !this.ended && read >= n;
    const waited = atEnd ? Math.max(this.waited, now - this.arrivals[0] - n / this.pace) : this.waited;
    const waiting = atEnd || (!this.ended && waited > .05 && ahead < HELD);
    return { read, ahead, waited, waiting };
  }
}
