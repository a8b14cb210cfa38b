// The settings sheet. A field left empty is not sent: the server's default
// holds.
import { $ } from "./dom.js";
import * as store from "./store.js";

const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "repeat_penalty", "max_tokens", "seed"];
const root = document.documentElement.dataset;
let values = {};

// start shows what is kept; changed() is called after every change.
export function start(changed) {
  const form = $("settings-form");
  values = store.settings();
  fill(form);
  $("open-settings").addEventListener("click", () => $("settings").showModal());
  form.addEventListener("input", () => { values = collect(form); store.saveSettings(values); changed(); });
  $("reset-settings").addEventListener("click", () => { values = {}; form.reset(); store.saveSettings(values); changed(); });
  form.addEventListener("submit", (e) => {
    // a field out of its range keeps the sheet open, with the browser's words
    if (!form.checkValidity()) { e.preventDefault(); form.reportValidity(); }
  });
  // a tap beside a sheet closes it
  document.querySelectorAll("dialog").forEach((d) => d.addEventListener("click", (e) => { if (e.target === d) d.close(); }));
}

function fill(form) {
  for (const [name, v] of Object.entries(values)) {
    const field = form.elements[name];
    if (!field) continue;
    if (field.type === "checkbox") field.checked = v !== false;
    else field.value = v;
  }
}

function collect(form) {
  const f = form.elements;
  const out = { pace: f.pace.value, cursor: f.cursor.checked, thinking: f.thinking.checked };
  if (f.system.value.trim()) out.system = f.system.value;
  for (const name of NUMBERS) {
    if (f[name].value !== "" && f[name].checkValidity()) out[name] = Number(f[name].value);
  }
  return out;
}

// pace is the reader's, tokens/s.
export const pace = () => Number(values.pace === "average" ? root.average : root.target);
export const cursor = () => values.cursor !== false;

// wishes are the settings of an ask.
export function wishes() {
  const out = {};
  if (values.system) out.system = values.system;
  for (const name of NUMBERS) if (Number.isFinite(values[name])) out[name] = values[name];
  if (!$("thinking-field").hidden) out.thinking = values.thinking !== false;
  return out;
}

// thinking tells whether the model's template knows the switch.
export function thinking(known) { $("thinking-field").hidden = !known; }
