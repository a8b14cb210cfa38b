// The message box: what the keys do, and when nothing may be sent.
import { $, setText } from "./dom.js";

const limit = Number(document.documentElement.dataset.maxInput) || Infinity;

export class Composer {
  // on: send(text, editing) → true when taken, stop(), lastSaid() → text or null
  constructor(on) {
    this.on = on;
    this.box = $("message");
    this.busy = false;
    this.editing = false;
    this.reason = "";
    this.box.addEventListener("keydown", (e) => this.key(e));
    this.box.addEventListener("input", () => { this.problem(""); this.update(); });
    $("composer").addEventListener("submit", (e) => { e.preventDefault(); this.submit(); });
    $("stop").addEventListener("click", () => { this.on.stop(); this.box.focus(); });
    $("cancel-edit").addEventListener("click", () => this.cancelEdit());
    // Esc stops from anywhere, unless a sheet is open or text is composed
    document.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || e.defaultPrevented || composing(e) || document.querySelector("dialog[open], .panel.open")) return;
      if (this.busy) this.on.stop();
      else if (this.editing) this.cancelEdit();
    });
    this.update();
  }

  key(e) {
    if (composing(e)) return;
    if (e.key === "Enter" && !e.shiftKey && !e.ctrlKey && !e.altKey && !e.metaKey) {
      e.preventDefault();
      this.submit();
    } else if (e.key === "ArrowUp" && this.box.value === "" && !this.busy) {
      const text = this.on.lastSaid();
      if (text === null) return;
      e.preventDefault();
      this.edit(text);
    }
  }

  submit() {
    const text = this.box.value;
    if (!text.trim() || this.busy) return;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > limit) {
      this.problem(`The message has ${bytes} bytes; this server takes at most ${limit}. Shorten it.`);
      return;
    }
    if (this.reason) { this.problem(this.reason); return; }
    this.problem("");
    if (!this.on.send(text, this.editing)) return;
    this.editing = false;
    $("editing").hidden = true;
    this.set("");
  }

  // edit brings the last message back; sending it replaces it.
  edit(text) {
    this.editing = true;
    $("editing").hidden = false;
    this.problem("");
    this.set(text);
    this.box.focus();
    this.box.setSelectionRange(text.length, text.length);
  }

  cancelEdit() {
    this.editing = false;
    $("editing").hidden = true;
    this.set("");
    this.box.focus();
  }

  set(text) {
    this.box.value = text;
    this.update();
  }

  // setBusy swaps Send for Stop without losing the focus.
  setBusy(on) {
    this.busy = on;
    const had = document.activeElement === $(on ? "send" : "stop");
    $("send").hidden = on;
    $("stop").hidden = !on;
    if (had) this.box.focus();
    this.update();
  }

  // blocked holds messages back for a reason; "" lets them go.
  blocked(reason) {
    if (this.reason && !reason) this.problem("");
    this.reason = reason;
    this.update();
  }

  problem(text) {
    $("problem").hidden = !text;
    setText($("problem"), text);
  }

  update() {
    $("send").setAttribute("aria-disabled", String(!this.box.value.trim() || !!this.reason));
    if (CSS.supports("field-sizing", "content")) return;
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}

// composing tells keys that belong to an input method: 229 is what browsers
// report where isComposing comes too late (Safari).
function composing(e) { return e.isComposing || e.keyCode === 229; }
