// Screen readers hear the answer by sentences, politely, not token by token.
import { $ } from "./dom.js";

let held = "";

// hear takes new text of the answer and says every sentence that is complete.
export function hear(text) {
  held += text;
  const end = /[.!?…。！？](?=\s|$)[\s\S]*|\n\n[\s\S]*/.exec(held);
  if (!end) return;
  // the last end of a sentence that is followed by something
  const cut = Math.max(...[...held.matchAll(/[.!?…](?=\s)|[。！？]|\n\n/g)].map((m) => m.index + 1), 0);
  if (cut === 0) return;
  say(held.slice(0, cut));
  held = held.slice(cut);
}

// flush says what is left when the answer ends, and then a last word.
export function flush(word = "") {
  say(held);
  held = "";
  say(word);
}

export function forget() { held = ""; }

function say(text) {
  const plain = text.replace(/[*_`#>|~]+/g, " ").replace(/\s+/g, " ").trim();
  if (!plain) return;
  const p = document.createElement("p");
  p.textContent = plain;
  const box = $("announcer");
  box.append(p);
  while (box.childElementCount > 8) box.firstElementChild.remove();
}
