// What the browser keeps: the conversation, the settings, the last paces. The
// server keeps none of it. Every tab has a chat of its own, named in its
// sessionStorage, so two tabs never write the same entry:
//   - a reload finds its own chat again,
//   - a new tab takes the newest chat that no open tab holds,
//   - a duplicated tab (same name, copied by the browser) gets a copy.
import { randomId } from "./dom.js";

const PREFIX = "pichat.1."; // the version of the format
const KEEP = 6; // chats kept at most

const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel("pichat") : null;
let mine = "";
channel?.addEventListener("message", (e) => {
  if (e.data?.ask === mine) channel.postMessage({ held: mine });
});

function read(key, storage = localStorage) {
  try { return JSON.parse(storage.getItem(PREFIX + key)); } catch { return null; }
}

// write makes room by dropping old chats; it returns false when even that did
// not help or the browser forbids storage.
function write(key, value, storage = localStorage) {
  const text = JSON.stringify(value);
  for (let spare = KEEP; spare >= 0; spare--) {
    try {
      storage.setItem(PREFIX + key, text);
      return true;
    } catch { if (!prune(spare)) break; }
  }
  return false;
}

// chats lists the ids of valid chats, newest first.
function chats() {
  const out = [];
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(`${PREFIX}chat.`)) continue;
      const id = key.slice(PREFIX.length + 5);
      out.push({ id, at: read(`chat.${id}`)?.at || 0 });
    }
  } catch { /* storage is off */ }
  return out.sort((a, b) => b.at - a.at).map((c) => c.id);
}

function prune(keep) {
  const old = chats().filter((id) => id !== mine).slice(keep);
  old.forEach((id) => localStorage.removeItem(`${PREFIX}chat.${id}`));
  return old.length > 0 || keep > 0;
}

// held asks the other tabs whether one of them holds a chat.
function held(id) {
  if (!channel) return Promise.resolve(false);
  return new Promise((resolve) => {
    const hear = (e) => { if (e.data?.held === id) done(true); };
    const done = (answer) => { channel.removeEventListener("message", hear); clearTimeout(timer); resolve(answer); };
    const timer = setTimeout(done, 60, false);
    channel.addEventListener("message", hear);
    channel.postMessage({ ask: id });
  });
}

const isText = (v) => typeof v === "string";
const isTurn = (t) => t && (t.role === "user" || t.role === "assistant") && isText(t.content) && (t.thought === undefined || isText(t.thought));

// load returns a chat, or null when there is none or it makes no sense.
function load(id) {
  const chat = read(`chat.${id}`);
  if (!chat || !Array.isArray(chat.turns) || !chat.turns.every(isTurn)) return null;
  const p = chat.pending;
  const pending = p && isText(p.id) && isText(p.content) && isText(p.thought) ? p : null;
  const turns = chat.turns.map(({ role, content, thought, note, finish }) => ({ role, content, thought, note, finish }));
  return { turns, pending };
}

// open finds this tab's chat: {turns, pending}.
export async function open() {
  const named = read("tab", sessionStorage);
  let chat = null;
  if (isText(named)) {
    chat = load(named);
    if (!(await held(named))) mine = named;
    else if (chat) chat.pending = null; // the other tab has the running answer
  } else {
    for (const id of chats()) {
      if (await held(id)) continue;
      chat = load(id);
      if (chat) { mine = id; break; }
    }
  }
  if (!mine) mine = randomId();
  write("tab", mine, sessionStorage);
  prune(KEEP);
  return chat ?? { turns: [], pending: null };
}

// fresh begins a new chat in this tab; the old one stays for another tab.
export function fresh() {
  mine = randomId();
  write("tab", mine, sessionStorage);
}

// save keeps a chat; it returns false when the browser has no room for it.
export function save(chat) {
  if (!mine) return true; // not yet opened
  if (!chat.turns.length) { try { localStorage.removeItem(`${PREFIX}chat.${mine}`); } catch { /* off */ } return true; }
  return write(`chat.${mine}`, { at: Date.now(), ...chat });
}

export function settings() {
  const s = read("settings");
  return s && typeof s === "object" && !Array.isArray(s) ? s : {};
}
export const saveSettings = (s) => write("settings", s);

export function paces() {
  const p = read("paces");
  return Array.isArray(p) ? p.filter(Number.isFinite).slice(-12) : [];
}
export const savePaces = (p) => write("paces", p.slice(-12));
