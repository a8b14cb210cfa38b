package llm

import (
	"fmt"
	"sync"
	"time"
)

// gate counts the requests that are accepted and not done, and refuses what is
// too much. Its methods may be called from any goroutine.
type gate struct {
	limit     int           // requests in all
	perClient int           // of one client
	maxWait   time.Duration // refuse who would wait longer; 0 refuses nobody

	mu      sync.Mutex
	total   int
	clients map[string]int
	waits   waits
}

// waits are predictions; 0 where there is no wait or it cannot be told.
type waits struct {
	next     time.Duration // until the first of the queue starts
	newcomer time.Duration // until one who comes now starts
}

func newGate(limit, perClient int, maxWait time.Duration) *gate {
	return &gate{limit: limit, perClient: perClient, maxWait: maxWait, clients: map[string]int{}}
}

// enter counts a request in, or says why not. A request without a client's name
// counts for itself.
func (g *gate) enter(client string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.total >= g.limit:
		return &QueueError{Reason: fmt.Sprintf("%d requests are being served or wait already", g.total), RetryAfter: max(g.waits.next, time.Second)}
	case client != "" && g.clients[client] >= g.perClient:
		return &QueueError{Reason: fmt.Sprintf("%d requests from your address are being served or wait already, the most that one may have", g.clients[client]),
			OfClient: true, RetryAfter: max(g.waits.next, time.Second)}
	case g.maxWait > 0 && g.waits.newcomer > g.maxWait:
		return &QueueError{Reason: fmt.Sprintf("the wait would be about %v, longer than the limit of %v", g.waits.newcomer.Round(time.Second), g.maxWait),
			RetryAfter: g.waits.newcomer - g.maxWait + time.Second}
	}
	g.total++
	g.clients[client]++
	return nil
}

// leave counts a request out.
func (g *gate) leave(client string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.clients[client]--; g.clients[client] == 0 {
		delete(g.clients, client)
	}
}

// busy tells whether any request is accepted and not done.
func (g *gate) busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total > 0
}

// predict takes what the engine predicts now.
func (g *gate) predict(w waits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits = w
}
