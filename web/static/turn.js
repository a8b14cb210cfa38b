// The view of one message. What a user wrote is text; what the model wrote
// comes from the server as sanitised HTML, block by block.
import { $, clone, setText } from "./dom.js";

export class UserTurn {
  constructor(content) {
    this.el = clone("turn-user");
    setText(this.el.querySelector(".said"), content);
  }
}

export class AnswerTurn {
  constructor() {
    const el = clone("turn-assistant");
    const part = (sel) => el.querySelector(sel);
    Object.assign(this, {
      el, answer: part(".answer"), thought: part(".thought"), thinking: part(".thinking"),
      before: part(".before"), live: part(".live"), verdict: part(".verdict-place"),
    });
    this.blocks = []; // {el, from, length}: each block's share of the text
    this.length = 0; // characters of visible text
    this.version = 0; // counts changes of the text
  }

  // raw shows text as it is, until the server has rendered it.
  raw(text) {
    this.clear();
    if (!text) return;
    const el = document.createElement("div");
    el.className = "block raw";
    el.dir = "auto";
    el.textContent = text;
    this.answer.append(el);
    this.measure(el);
  }

  // setBlocks replaces everything from block number from on; blocks before
  // it are not touched. html is the server's and sanitised.
  setBlocks(from, html) {
    while (this.blocks.length > from) this.blocks.pop().el.remove();
    const last = this.blocks.at(-1);
    this.length = last ? last.from + last.length : 0;
    for (const fragment of html) {
      const el = document.createElement("div");
      el.className = "block";
      el.dir = "auto";
      el.innerHTML = fragment;
      this.answer.insertBefore(el, this.mark?.isConnected ? this.mark : null);
      this.measure(el);
    }
    this.blocks.slice(Math.max(0, from - 1), -1).forEach((b) => this.finishBlock(b.el));
    this.version++;
  }

  measure(el) {
    const length = el.textContent.length;
    this.blocks.push({ el, from: this.length, length });
    this.length += length;
    this.version++;
  }

  clear() {
    this.blocks = [];
    this.length = 0;
    this.answer.querySelectorAll(".block").forEach((b) => b.remove());
    this.version++;
  }

  // finishBlock adds what only a finished block should have: a button in a
  // block that is still written would lose the focus with every token.
  finishBlock(el) {
    el.querySelectorAll("pre:not([tabindex])").forEach((pre) => {
      pre.tabIndex = 0; // it scrolls, so a keyboard must reach it
      pre.setAttribute("role", "region");
      pre.setAttribute("aria-label", "Code");
      pre.after(clone("copy-code"));
    });
  }

  finish() {
    this.blocks.forEach((b) => this.finishBlock(b.el));
    this.before.hidden = true;
    this.live.hidden = true;
    this.el.classList.remove("running");
  }

  think(text) {
    this.thought.hidden = false;
    this.thinking.append(text);
  }

  // waiting says what happens before the first token; share is 0..1 or null
  // when it cannot be told.
  waiting(text, share = null) {
    const bar = this.before.querySelector("progress");
    this.before.hidden = !text;
    setText(this.before.firstElementChild, text);
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
    bar.hidden = share === null;
  }

  // leftOut says that the model no longer sees the beginning of the chat.
  leftOut(messages) {
    const el = this.el.querySelector(".left-out");
    el.hidden = messages < 1;
    setText(el, messages < 1 ? "" : `The chat is longer than the model can keep in mind: this answer was written without its first ${messages === 1 ? "message" : `${messages} messages`}.`);
  }

  // note is a plain line in place of a verdict.
  note(text) {
    const p = document.createElement("p");
    p.className = "note-line";
    p.textContent = text;
    this.verdict.replaceChildren(p);
  }

  // find turns a place in the visible text into a text node, an offset in it
  // and the part of that character that is passed.
  find(place) {
    let low = 0;
    let high = this.blocks.length - 1;
    if (high < 0) return null;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.blocks[mid].from <= place) low = mid; else high = mid - 1;
    }
    const block = this.blocks[low];
    block.rtl ??= getComputedStyle(block.el).direction === "rtl";
    const spot = (node, rest) => {
      const offset = Math.min(Math.floor(Math.max(rest, 0)), node.length - 1);
      return { node, offset, part: Math.min(1, Math.max(0, rest - offset)), rtl: block.rtl };
    };
    const walker = document.createTreeWalker(block.el, NodeFilter.SHOW_TEXT);
    let rest = place - block.from;
    let seen = null; // blank nodes, between paragraphs, have no place on the page
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.parentElement.localName === "button") continue;
      if (node.data.trim()) {
        if (rest <= node.length) return spot(node, rest);
        seen = node;
      }
      rest -= node.length;
      if (rest <= 0 && seen) break;
    }
    return seen && spot(seen, seen.length);
  }
}

// lastTurns marks the turns whose actions are offered.
export function lastTurns() {
  const turns = [...$("turns").children];
  const said = turns.filter((t) => t.classList.contains("user")).pop();
  turns.forEach((t, i) => {
    t.classList.toggle("last", i === turns.length - 1);
    t.classList.toggle("last-said", t === said);
  });
}
