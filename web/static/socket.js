// The connection to the server. It comes back by itself; what to say on a new
// connection is the page's matter.

const FIRST = 500; // ms until the first new attempt
const LONGEST = 10_000;

export class Socket {
  // handlers: hello() returns the first frame; frame(f) takes each frame of
  // the server; up() and down(ms until the next attempt).
  constructor(handlers) {
    this.on = handlers;
    this.delay = FIRST;
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.retryNow(); });
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = 0;
    const ws = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    this.ws = ws;
    ws.onopen = () => {
      ws.send(JSON.stringify(this.on.hello()));
    };
    ws.onmessage = (e) => {
      let frame;
      try { frame = JSON.parse(e.data); } catch { return; } // a proxy's words, not ours
      if (frame.type === "welcome") { this.delay = FIRST; this.up = true; this.on.up(); }
      this.on.frame(frame);
    };
    ws.onclose = () => {
      if (this.ws !== ws) return;
      this.up = false;
      // spread out, so that many pages do not come back in one instant
      const wait = this.delay * (.75 + Math.random() / 2);
      this.delay = Math.min(this.delay * 2, LONGEST);
      this.timer = setTimeout(() => this.connect(), wait);
      this.on.down(wait);
    };
  }

  retryNow() {
    if (this.timer) this.connect();
  }

  // send returns false when the frame could not be sent.
  send(frame) {
    if (!this.up || this.ws.readyState !== WebSocket.OPEN) return false;
    this.ws.send(JSON.stringify(frame));
    return true;
  }
}
