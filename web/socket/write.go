package socket

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"pichat/web/wire"
)

// write sends what there is to send until the connection ends. It is the only
// place that writes frames.
func (c *Conn) write() error {
	ping := time.NewTicker(c.config.Ping)
	defer ping.Stop()
	for {
		// Looked at first: what was to be told before the close is then there
		// for writeAll.
		closing := c.closeWanted()
		if err := c.writeAll(); err != nil {
			_ = c.ws.Close()
			return err
		}
		if closing != nil {
			data := websocket.FormatCloseMessage(closing.code, closing.reason)
			return c.ws.WriteControl(websocket.CloseMessage, data, time.Now().Add(c.config.WriteTimeout))
		}
		select {
		case <-c.wake:
		case f := <-c.queue:
			if err := c.writeFrame(f); err != nil {
				_ = c.ws.Close()
				return err
			}
		case <-ping.C:
			if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.config.WriteTimeout)); err != nil {
				_ = c.ws.Close()
				return fmt.Errorf("ping: %w", err)
			}
		case <-c.gone:
			return errGone
		}
	}
}

// writeAll writes the queue, then the replaced frames, then what the sources
// have. The latter two are looked up first: whoever announces a source in the
// queue and then adds it finds the announcement written first.
func (c *Conn) writeAll() error {
	c.mu.Lock()
	latest := c.latest
	c.latest = nil
	sources := slices.Clone(c.sources)
	c.mu.Unlock()
	for queued := true; queued; {
		select {
		case f := <-c.queue:
			if err := c.writeFrame(f); err != nil {
				return err
			}
		default:
			queued = false
		}
	}
	for _, l := range latest {
		if err := c.writeData(l.data); err != nil {
			return err
		}
	}
	for _, s := range sources {
		frames, done := s.Frames()
		for _, f := range frames {
			if err := c.writeFrame(f); err != nil {
				return err
			}
		}
		if done {
			c.unfollow(s)
		}
	}
	return nil
}

func (c *Conn) unfollow(s Source) {
	c.mu.Lock()
	c.sources = slices.DeleteFunc(c.sources, func(other Source) bool { return other == s })
	c.mu.Unlock()
	s.Close()
}

func (c *Conn) writeFrame(frame any) error {
	data, err := wire.Encode(frame)
	if err != nil {
		return err
	}
	return c.writeData(data)
}

func (c *Conn) writeData(data []byte) error {
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.config.WriteTimeout)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, data)
}
