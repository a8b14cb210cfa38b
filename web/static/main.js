// The page's beginning: builds the parts and ties them together.
import { $, morph, setText } from "./dom.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { Socket } from "./socket.js";
import * as panel from "./panel.js";
import * as settings from "./settings.js";
import * as store from "./store.js";

const root = document.documentElement;

const chat = new Chat({
  send: (frame) => socket.send(frame),
  busy: (on) => composer.setBusy(on),
  problem: (text) => composer.problem(text),
  edit: (text) => composer.edit(text),
  focus: () => composer.box.focus({ preventScroll: true }),
});

const composer = new Composer({
  send: (text, editing) => {
    if (!socket.up) { composer.problem("Not connected. Your message stays here until the connection is back."); return false; }
    return chat.ask(text, editing);
  },
  stop: () => chat.stop(),
  lastSaid: () => chat.lastSaid(true),
});

const socket = new Socket({
  hello: () => chat.hello(),
  up: () => { root.dataset.connected = "yes"; lost(""); composer.problem(""); },
  down: () => { root.dataset.connected = "no"; lost("Connection lost. What you see stays; reconnecting."); },
  frame,
});

function frame(f) {
  switch (f.type) {
    case "welcome": if (!reloadFor(f.version)) chat.welcome(f); break;
    case "state": state(f); break;
    case "vitals": panel.vitals(f, chat.running !== null); break;
    case "error": if (f.id) chat.frame(f); else composer.problem(f.message); break;
    default: chat.frame(f);
  }
}

function state(f) {
  root.dataset.phase = f.phase;
  morph($("state"), f.html);
  morph($("state-notices"), f.notices ?? "");
  settings.thinking(f.thinking === true);
  hold(f.phase);
}

function hold(phase) {
  composer.blocked({
    loading: "The model is still loading. Your message stays here.",
    failed: "The model could not be loaded, so nothing can answer.",
    stopping: "The server is stopping. Your message stays here.",
  }[phase] ?? "");
}

function lost(text) {
  $("lost").hidden = !text;
  setText($("lost"), text);
  chat.follow.update();
}

// reloadFor loads a newer page once, so that page and server fit together.
function reloadFor(version) {
  const seen = sessionStorage.getItem("pichat.reloaded");
  if (!version || version === root.dataset.version || seen === version) return false;
  sessionStorage.setItem("pichat.reloaded", version);
  location.reload();
  return true;
}

// iOS shows its keyboard over the page and changes no viewport unit.
function fitKeyboard() {
  const vv = window.visualViewport;
  if (!vv) return;
  vv.addEventListener("resize", () => {
    const covered = innerHeight - vv.height * vv.scale > 80;
    root.style.setProperty("--height", covered ? `${vv.height}px` : "100dvh");
    if (covered) scrollTo(0, 0);
    chat.follow.update();
  });
}

settings.start(() => chat.settingsChanged());
panel.start();
fitKeyboard();
hold(root.dataset.phase);
$("new-chat").addEventListener("click", () => { chat.fresh(); composer.cancelEdit(); });
document.querySelectorAll(".question").forEach((q) => q.addEventListener("click", () => {
  composer.set(q.textContent);
  composer.box.focus({ preventScroll: true });
  composer.submit();
}));
chat.restore(await store.open());
socket.connect();
if (matchMedia("(hover: hover)").matches) composer.box.focus({ preventScroll: true }); // no keyboard in a phone's face
