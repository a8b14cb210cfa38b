package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// closedUsers is one user for each slot.
const closedUsers = 4

// closedRate is how many requests/s are done when as many users as there are
// slots each send their next request when the last is answered. Requests that
// are not done when the time is over do not count.
func (s *session) closedRate(ctx context.Context, t *server, seed uint64) (float64, error) {
	over, cancel := context.WithTimeout(ctx, s.window/2)
	defer cancel()
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	began := time.Now()
	for user := range closedUsers {
		r := seeded(seed + uint64(user))
		all.Go(func() {
			for over.Err() == nil {
				if _, err := t.say(over, mixed(r)); err != nil {
					if over.Err() == nil {
						failed.Store(&err)
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), ctx.Err()
}
