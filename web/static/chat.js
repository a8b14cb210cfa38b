// The conversation: what was said, what is being answered, and the frames
// that carry it.
import { $, copy, randomId, setText } from "./dom.js";
import { AnswerTurn, UserTurn, lastTurns } from "./turn.js";
import { Live } from "./live.js";
import { Mark } from "./cursor.js";
import { Follow } from "./follow.js";
import { progress, show } from "./figures.js";
import * as announce from "./announce.js";
import * as panel from "./panel.js";
import * as settings from "./settings.js";
import * as store from "./store.js";

const TICK = 250; // ms between two updates of figures

export class Chat {
  // on: send(frame) → sent, busy(bool), problem(text), edit(text)
  constructor(on) {
    this.on = on;
    this.turns = []; // {role, content, thought?, note?, finish?, view?}
    this.views = new WeakMap(); // element → its turn
    this.running = null; // the reply being written
    this.follow = new Follow();
    $("turns").addEventListener("click", (e) => this.action(e.target.closest("[data-do]")));
    addEventListener("pagehide", () => this.save(true));
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.save(true); });
  }

  // restore shows a kept chat at once as plain text; the server's HTML
  // replaces it with the first Welcome.
  restore({ turns, pending }) {
    for (const t of turns) this.add(t);
    this.unrendered = turns.length > 0 || pending !== null;
    if (pending) {
      this.begin(pending.id);
      Object.assign(this.running, { content: pending.content, thought: pending.thought });
      if (pending.thought) this.running.view.think(pending.thought);
      this.running.view.raw(pending.content);
      this.running.replay = true;
    }
    this.arrange();
    this.follow.toEnd();
  }

  hello() {
    const frame = { type: "hello" };
    const r = this.running;
    if (this.unrendered) {
      frame.turns = this.sent();
      if (r?.content) frame.turns.push({ role: "assistant", content: r.content });
    }
    // after a reload every frame is wanted again: they rebuild the answer,
    // the times of its tokens and the reader's place
    if (r) frame.resume = { id: r.id, after: r.replay ? 0 : r.serial };
    return frame;
  }

  // sent is the chat as the server wants it.
  sent() { return this.turns.map(({ role, content, thought }) => ({ role, content, ...(thought && { thought }) })); }

  welcome(frame) {
    const r = this.running;
    if (this.unrendered) {
      this.unrendered = false;
      this.turns.forEach((t, i) => { if (t.view) this.render(t.view, frame.html?.[i]); });
      if (r?.content && !frame.resumed) this.render(r.view, frame.html?.[this.turns.length]);
    }
    if (r && !frame.resumed) this.lost();
    this.follow.update();
  }

  render(view, html) {
    if (html === undefined) return;
    view.clear();
    view.setBlocks(0, [html]);
    view.blocks.forEach((b) => view.finishBlock(b.el));
  }

  // lost handles a reply that the server does not know. Was nothing heard of
  // it, the question may not have arrived: ask again. Else keep what came.
  lost() {
    const r = this.running;
    if (!r.serial && !r.replay) { this.on.send(r.ask); return; }
    this.end("The server no longer has the rest of this answer.");
  }

  add(turn) {
    const view = turn.role === "user" ? new UserTurn(turn.content) : new AnswerTurn();
    if (turn.role === "assistant") {
      turn.view = view;
      view.raw(turn.content);
      if (turn.thought) view.think(turn.thought);
      if (turn.note) view.note(turn.note);
      view.el.querySelector("[data-do=continue]").hidden = turn.finish !== "length";
      this.views.set(view.el, turn);
    }
    this.turns.push(turn);
    $("turns").append(view.el);
  }

  // ask sends a message, in place of the last one when editing.
  ask(text, editing) {
    if (this.running) return false;
    if (editing) this.cut(this.lastSaid());
    this.add({ role: "user", content: text });
    return this.request();
  }

  request() {
    const id = randomId();
    this.begin(id);
    this.running.ask = { type: "ask", id, turns: this.sent(), settings: settings.wishes() };
    if (!this.on.send(this.running.ask)) this.running.view.waiting("Waiting for the connection");
    this.save(true);
    this.arrange();
    this.follow.toEnd();
    return true;
  }

  begin(id) {
    const view = new AnswerTurn();
    view.el.classList.add("running");
    view.waiting("Sending");
    $("turns").append(view.el);
    const live = new Live(settings.pace());
    this.mark?.stop();
    this.mark = new Mark(view, live);
    this.mark.show(settings.cursor());
    this.mark.start();
    this.running = { id, view, live, serial: 0, content: "", thought: "" };
    announce.forget();
    panel.figures({});
    panel.reader("idle", "Before the first token.");
    clearInterval(this.ticker);
    this.ticker = setInterval(() => this.tick(), TICK);
    this.on.busy(true);
  }

  // frame takes a frame of a reply.
  frame(f) {
    const r = this.running;
    if (!r || f.id !== r.id) return;
    if (f.serial) {
      if (f.serial <= r.serial) return; // seen before the connection was lost
      r.serial = f.serial;
    }
    if (r.replay) this.rebuild(r);
    if (f.type === "text") this.text(r, f);
    else if (f.type === "done") this.done(r, f);
    else if (f.type === "error") this.refused(r, f);
    else progress(r, f);
    this.follow.update();
  }

  rebuild(r) {
    r.replay = false;
    r.content = r.thought = "";
    r.view.clear();
    r.view.thinking.replaceChildren();
  }

  text(r, f) {
    r.view.waiting("");
    const before = r.view.length;
    if (f.thought) {
      r.thought += f.delta;
      r.view.think(f.delta);
    } else {
      r.content += f.delta;
      r.view.setBlocks(f.from, f.blocks ?? []);
      announce.hear(f.delta);
    }
    r.live.text(f, before, r.view.length);
    if (!r.shown) this.tick();
    this.save();
  }

  done(r, f) {
    const { verdict } = r.view;
    verdict.innerHTML = f.html ?? "";
    const note = verdict.querySelector(".ending, .headline")
      ? [...verdict.querySelectorAll(".ending, .headline")].map((p) => p.textContent.trim()).join(" ")
      : f.error ?? "";
    if (f.html === undefined || f.html === "") r.view.note(note);
    r.view.el.querySelector("[data-do=continue]").hidden = f.finish !== "length";
    r.live.reader.ended = true;
    const t = f.timings ?? {};
    panel.answered(t.tps);
    if (t.tps !== undefined) panel.pace(t.tps, false);
    panel.figures({ first: t.ttft_s, queue: t.queue_s, prefill: t.prefill_s, tokens: t.completion_tokens });
    announce.flush(note);
    this.settle(r, note, f.finish);
  }

  refused(r, f) {
    r.view.note(f.message);
    announce.flush(f.message);
    this.settle(r, f.message);
  }

  end(words) {
    const r = this.running;
    r.view.note(words);
    announce.flush(words);
    this.settle(r, words);
  }

  // settle ends a reply, however it ended.
  settle(r, note, finish) {
    r.live.reader.ended = true;
    clearInterval(this.ticker);
    show(r, true);
    r.view.finish();
    this.running = null;
    r.view.el.querySelector("[data-do=copy]").hidden = !r.content;
    if (r.content || r.thought) {
      const turn = { role: "assistant", content: r.content, ...(r.thought && { thought: r.thought }), note, finish };
      this.views.set(r.view.el, turn);
      this.turns.push(turn);
    }
    this.on.busy(false);
    this.save(true);
    this.arrange();
  }

  tick() {
    if (this.running) { show(this.running, false); this.running.shown = true; }
  }

  stop() {
    const r = this.running;
    if (!r) return;
    if (!this.on.send({ type: "stop", id: r.id })) this.end("Stopped here; the connection is lost, so the server may write on for a while.");
  }

  action(button) {
    if (!button) return;
    const turn = this.views.get(button.closest(".turn"));
    switch (button.dataset.do) {
      case "copy": this.copied(button, turn?.content ?? ""); break;
      case "copy-code": this.copied(button, button.parentElement.querySelector("pre").textContent); break;
      case "edit": this.on.edit(this.lastSaid(true)); break;
      case "again": this.again(); break;
      case "continue": this.on.focus(); this.ask("Continue."); break;
    }
  }

  async copied(button, text) {
    setText(button, await copy(text) ? "Copied" : "Copying failed");
    setTimeout(() => setText(button, "Copy"), 2000);
  }

  // again answers the last message anew.
  again() {
    if (this.running) return;
    const i = this.lastSaid();
    if (i < 0) return;
    this.on.focus();
    this.cut(i + 1);
    this.request();
  }

  // cut drops the turns from index i on, and their views. A reply without
  // text has a view but no turn, so views are counted from the user's turn.
  cut(i) {
    const keep = this.turns.slice(0, i);
    let left = keep.filter((t) => t.role === "user").length;
    let dropping = false;
    for (const el of [...$("turns").children]) {
      if (el.classList.contains("user")) dropping = left-- <= 0;
      else if (left <= 0 && i > 0 && keep.at(-1)?.role === "user") dropping = true;
      if (dropping) el.remove();
    }
    this.turns = keep;
  }

  // lastSaid is the index of the user's last turn, or its text.
  lastSaid(text = false) {
    const i = this.turns.findLastIndex((t) => t.role === "user");
    return text ? this.turns[i]?.content ?? null : i;
  }

  fresh() {
    if (this.running) { this.stop(); this.settle(this.running, "Stopped."); }
    this.save(true);
    store.fresh();
    this.mark?.stop();
    this.turns = [];
    $("turns").replaceChildren();
    panel.figures({});
    panel.reader("idle", "No answer yet.");
    this.arrange();
  }

  // settingsChanged lets the running reply's reader and mark follow.
  settingsChanged() {
    const m = this.mark;
    if (!m) return;
    m.live.reader.setPace(settings.pace());
    m.restart();
    m.show(settings.cursor());
  }

  arrange() {
    const empty = $("turns").childElementCount === 0;
    $("empty").hidden = !empty;
    $("turns").classList.toggle("busy", this.running !== null);
    lastTurns();
    this.follow.update();
  }

  // save keeps the chat: at once when something is settled, else at most once
  // a second while text streams in.
  save(now = false) {
    if (!now) { this.saving ??= setTimeout(() => this.save(true), 1000); return; }
    clearTimeout(this.saving);
    this.saving = undefined;
    const r = this.running;
    const kept = store.save({
      turns: this.turns.map(({ view, ...kept }) => kept),
      pending: r && { id: r.id, content: r.content, thought: r.thought },
    });
    if (!kept && !this.warned) {
      this.warned = true;
      this.on.problem("This browser has no room to keep the conversation: a reload will lose it.");
    }
  }
}
