// The view follows the stream only while the reader is at the bottom.
import { $ } from "./dom.js";

const NEAR = 32; // px that still count as the bottom

export class Follow {
  constructor() {
    this.box = $("talk");
    this.on = true;
    this.top = 0;
    this.box.addEventListener("scroll", () => this.look(), { passive: true });
    $("latest").addEventListener("click", () => { this.toEnd(); $("message").focus({ preventScroll: true }); });
    new ResizeObserver(() => this.update()).observe(this.box);
    new ResizeObserver(() => this.update()).observe($("turns"));
  }

  look() {
    const gap = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
    // growth alone is no wish to stay: only a move upwards lets go
    if (gap <= NEAR) this.on = true;
    else if (this.box.scrollTop < this.top) this.on = false;
    this.top = this.box.scrollTop;
    $("latest").hidden = this.on || gap <= NEAR;
  }

  // update is to be called after the text has grown.
  update() {
    if (!$("turns").childElementCount) this.box.scrollTop = 0; // nothing to follow
    else if (this.on) {
      this.box.scrollTop = this.box.scrollHeight;
      this.top = this.box.scrollTop;
    } else this.look();
  }

  toEnd() {
    this.on = true;
    this.update();
  }
}
