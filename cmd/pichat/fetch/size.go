package fetch

import (
	"context"
	"fmt"
)

// Size asks the server for the size of a file in bytes; it reads one byte of
// it. 0 means that the server does not say.
func Size(ctx context.Context, c Config, address string) (uint64, error) {
	p := newPull(c, File{URL: address})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := p.get(ctx, "0-0", "")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	r, err := describe(resp)
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", address, err)
	}
	return uint64(max(r.size, 0)), nil
}
