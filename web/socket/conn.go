// Package socket runs one websocket of the chat page: a goroutine that reads
// and one that writes, and nobody else touches the connection.
//
// There are three ways to the writer. [Conn.Send] queues a frame; [Conn.Replace]
// leaves a frame that a newer one of its kind takes the place of, so that a
// slow client gets fewer vitals and not older ones; [Conn.Follow] names a
// source that the writer pulls from. All are bounded, and a client that does
// not read is dropped at the write deadline.
//
// Frames are not compressed: on the local network that serves saves nothing
// anyone would notice, and it would cost the machine whose speed is measured
// about a megabyte and some CPU for each client.
package socket

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"pichat/web/fault"
	"pichat/web/wire"
)

// Config configures a Conn; zero values mean the defaults named.
type Config struct {
	// MaxFrameBytes is the largest frame taken from the client; 1 MiB.
	MaxFrameBytes int64
	// Ping is the time between two pings; 20 s. They keep proxies and phones
	// from dropping the connection in a long prefill.
	Ping time.Duration
	// Silence is how long a client may send nothing, pongs included; 3 pings,
	// at least 30 s.
	Silence time.Duration
	// WriteTimeout is how long one frame may take to leave; 10 s.
	WriteTimeout time.Duration
	// Logger gets debug lines; nil discards them.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxFrameBytes == 0 {
		c.MaxFrameBytes = 1 << 20
	}
	if c.Ping == 0 {
		c.Ping = 20 * time.Second
	}
	if c.Silence == 0 {
		c.Silence = max(3*c.Ping, 30*time.Second)
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// queueLength bounds the frames that wait to be written, beside sources and
// replaced ones. A full queue holds up the client's own reader only.
const queueLength = 32

// lastWords is how long a client gets to take the last frames and close.
const lastWords = 2 * time.Second

// Source is something that a connection follows, such as a reply. The writer
// calls Frames after each Wake until it reports done, and Close once.
type Source interface {
	Frames() (frames []any, done bool)
	Close()
}

// Conn is one connection. Its methods may be called from any goroutine; Run
// only once.
type Conn struct {
	ws     *websocket.Conn
	config Config
	queue  chan any
	wake   chan struct{}
	gone   chan struct{} // closed when the reader has ended
	wrote  chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	latest  []slot
	sources []Source
	closing *closing
}

// slot holds the newest frame of a kind.
type slot struct {
	kind string
	data []byte
}

type closing struct {
	code   int
	reason string
}

// New takes over an upgraded connection. It starts nothing.
func New(ws *websocket.Conn, c Config) *Conn {
	return &Conn{
		ws: ws, config: c.withDefaults(),
		queue: make(chan any, queueLength), wake: make(chan struct{}, 1),
		gone: make(chan struct{}), wrote: make(chan struct{}),
	}
}

// Run serves the connection until it ends and calls frame with each text
// frame of the client, on one goroutine; a frame's bytes are the callee's. It
// closes the connection and its sources before it returns.
func (c *Conn) Run(frame func(data []byte)) {
	go func() {
		defer close(c.wrote)
		if err := c.write(); err != nil {
			c.config.Logger.Debug("websocket write", "err", err)
		}
		// What the client still sends is read for a moment: closing with
		// unread bytes would reset the connection and lose the last frames.
		c.mu.Lock()
		defer c.mu.Unlock()
		c.closing = &closing{}
		_ = c.ws.NetConn().SetReadDeadline(time.Now().Add(lastWords))
	}()
	c.config.Logger.Debug("websocket ended", "err", c.read(frame))
	close(c.gone)
	_ = c.ws.Close()
	<-c.wrote
	c.mu.Lock()
	sources := c.sources
	c.sources = nil
	c.mu.Unlock()
	for _, s := range sources {
		s.Close()
	}
}

// Send queues a frame. When the queue is full it waits for the client, at
// most as long as a write may take, and then gives the client up.
func (c *Conn) Send(frame any) {
	select {
	case c.queue <- frame:
		return
	default:
	}
	timeout := time.NewTimer(c.config.WriteTimeout)
	defer timeout.Stop()
	select {
	case c.queue <- frame:
	case <-c.gone:
	case <-c.wrote:
	case <-timeout.C:
		_ = c.ws.Close()
	}
}

// Replace leaves an encoded frame to be written in place of an older one of
// its kind that has not left yet. It never waits.
func (c *Conn) Replace(kind string, data []byte) {
	c.mu.Lock()
	found := false
	for i := range c.latest {
		if c.latest[i].kind == kind {
			c.latest[i].data, found = data, true
		}
	}
	if !found {
		c.latest = append(c.latest, slot{kind, data})
	}
	c.mu.Unlock()
	c.Wake()
}

// Follow adds a source, behind the frames that were queued before.
func (c *Conn) Follow(s Source) {
	c.mu.Lock()
	c.sources = append(c.sources, s)
	c.mu.Unlock()
	c.Wake()
}

// Wake makes the writer look at its sources. It never waits.
func (c *Conn) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Close ends the connection with a websocket close code, after what is queued
// has been written. It does not wait; Run returns when it is done.
func (c *Conn) Close(code int, reason string) {
	c.mu.Lock()
	if c.closing == nil {
		c.closing = &closing{code, reason}
	}
	c.mu.Unlock()
	c.Wake()
}

// closeWanted is what Close asked for; nil before.
func (c *Conn) closeWanted() *closing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// read hands frames on until the connection ends, and says how.
func (c *Conn) read(frame func([]byte)) error {
	alive := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closing != nil {
			return nil
		}
		return c.ws.NetConn().SetReadDeadline(time.Now().Add(c.config.Silence))
	}
	c.ws.SetPongHandler(func(string) error { return alive() })
	for {
		if err := alive(); err != nil {
			return err
		}
		kind, r, err := c.ws.NextReader()
		if err != nil {
			return err
		}
		if c.closeWanted() != nil {
			continue // only the client's close is of interest now
		}
		data, err := io.ReadAll(io.LimitReader(r, c.config.MaxFrameBytes+1))
		switch {
		case err != nil:
			return err
		case int64(len(data)) > c.config.MaxFrameBytes:
			c.refuse(fault.CodeTooLarge, "the frame is too large, the limit is %d bytes: shorten the message or begin a new chat", c.config.MaxFrameBytes)
			c.Close(websocket.CloseMessageTooBig, "frame too large")
		case kind != websocket.TextMessage:
			c.refuse(fault.CodeBadFrame, "a binary frame came: frames are JSON text")
		default:
			frame(data)
		}
	}
}

func (c *Conn) refuse(code, format string, args ...any) {
	c.Send(wire.ErrorOf("", fault.Newf(0, code, format, args...)))
}

var errGone = errors.New("the client is gone")
