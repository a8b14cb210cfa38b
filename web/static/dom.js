// Small helpers over the document.

export const $ = (id) => document.getElementById(id);

// clone returns the one element of a <template>.
export const clone = (id) => $(id).content.firstElementChild.cloneNode(true);

// setText writes only what has changed: an equal text costs no layout.
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

// morph makes the children of el those of html (a fragment from the server,
// never text of a user) and touches nothing that is equal, so that focus, an
// open <details> and a text selection survive an update once a second.
export function morph(el, html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  morphChildren(el, t.content);
}

function morphChildren(have, want) {
  const old = [...have.childNodes];
  const next = [...want.childNodes];
  next.forEach((n, i) => {
    const o = old[i];
    if (!o) have.append(n);
    else if (o.nodeName !== n.nodeName) o.replaceWith(n);
    else if (n.nodeType !== Node.ELEMENT_NODE) {
      if (o.data !== n.data) o.data = n.data;
    } else {
      morphAttributes(o, n);
      morphChildren(o, n);
    }
  });
  old.slice(next.length).forEach((o) => o.remove());
}

function morphAttributes(have, want) {
  for (const { name, value } of want.attributes) {
    if (have.getAttribute(name) !== value) have.setAttribute(name, value);
  }
  for (const { name } of [...have.attributes]) {
    if (!want.hasAttribute(name) && !(name === "open" && have.localName === "details")) have.removeAttribute(name);
  }
}

// copy puts text on the clipboard. Browsers offer the clipboard API on https
// and localhost only; at http://192.168.… the old command still works.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

function copyByCommand(text) {
  const had = document.activeElement;
  const area = document.createElement("textarea");
  area.className = "sr";
  area.value = text;
  area.readOnly = true; // keeps a phone's keyboard down
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch { /* refused: told by the result */ }
  area.remove();
  had?.focus?.({ preventScroll: true });
  return done;
}

// randomId is 32 hexadecimal digits. crypto.randomUUID is missing on http.
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// duration words seconds as the server does: "3.2 s", "14 s", "2 min 5 s".
export function duration(s) {
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 119.5) return `${s.toFixed(0)} s`;
  const whole = Math.round(s);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
