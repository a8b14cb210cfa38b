// The reader's mark: a bar that reads along in the answer. It is an overlay,
// moved by a transform; the text that still lies ahead is washed in the same
// colour through the CSS highlight API where the browser has it. Neither
// changes the layout, and screen readers see none of it.

const AHEAD = 600; // characters washed at most: a long lead needs no repaint
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Mark {
  constructor(turn, live) {
    this.turn = turn;
    this.live = live;
    this.el = document.createElement("span");
    this.el.className = "reader-mark gone";
    this.el.setAttribute("aria-hidden", "true");
    this.shown = true;
    this.furthest = 0; // the mark never goes back within an answer
    this.last = -1;
    this.wash = typeof Highlight === "function" && CSS.highlights ? new Highlight() : null;
    this.step = this.step.bind(this);
  }

  start() {
    this.turn.answer.append(this.el);
    this.turn.mark = this.el; // new blocks go before it
    if (this.wash) CSS.highlights.set("ahead", this.wash);
    this.frame = requestAnimationFrame(this.step);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.wash?.clear();
    this.el.remove();
  }

  show(on) {
    this.shown = on;
    this.last = -1;
    if (!on) this.hide();
  }

  hide() {
    this.wash?.clear();
    this.el.classList.add("gone");
  }

  restart() { this.furthest = 0; this.last = -1; }

  step() {
    const at = this.live.reader.where(this.live.now());
    const over = this.live.reader.ended && at.ahead <= 0;
    if (over) { this.hide(); setTimeout(() => this.stop(), 250); return; }
    if (this.shown && !still.matches && at.read > 0 && !document.hidden) this.draw(at);
    this.frame = requestAnimationFrame(this.step);
  }

  draw(at) {
    const place = Math.max(this.furthest, this.live.place(at.read));
    this.furthest = place;
    this.el.classList.toggle("waiting", at.waiting);
    if (Math.abs(place - this.last) < .05 && this.version === this.turn.version && this.width === innerWidth) return;
    this.last = place;
    this.version = this.turn.version;
    this.width = innerWidth; // a turned phone moves the text under the mark
    const spot = this.turn.find(Math.min(place, this.turn.length));
    if (!spot) return;
    const box = this.rect(spot);
    if (!box) return;
    const base = this.turn.answer.getBoundingClientRect();
    // between two letters; behind the last one it keeps a little distance
    const gap = spot.part < 1 ? -2 : 3;
    const x = spot.rtl ? box.right - box.width * spot.part - 2 - gap : box.left + box.width * spot.part + gap;
    this.el.style.height = `${box.height}px`;
    this.el.style.transform = `translate(${x - base.left}px, ${box.top - base.top}px)`;
    this.el.classList.remove("gone");
    this.ahead(spot, place);
  }

  rect(spot) {
    const range = document.createRange();
    range.setStart(spot.node, spot.offset);
    range.setEnd(spot.node, Math.min(spot.offset + 1, spot.node.length));
    const boxes = range.getClientRects();
    return boxes.length ? boxes[boxes.length - 1] : null; // a collapsed space has none
  }

  ahead(spot, place) {
    if (!this.wash) return;
    this.wash.clear();
    const end = this.turn.find(Math.min(this.turn.length, place + AHEAD));
    if (!end) return;
    const range = document.createRange();
    range.setStart(spot.node, spot.offset);
    range.setEnd(end.node, end.part > 0 ? Math.min(end.offset + 1, end.node.length) : end.offset);
    this.wash.add(range);
  }
}
