package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"pichat/llm/gguf"
)

const (
	// block is how much of a header one request asks for.
	block = 1 << 20
	// maxHeader is more than any model's header; the vocabulary is most of it.
	maxHeader = 64 << 20
	// lookTries is how often the header is tried: at the beginning a machine
	// without network should say so soon.
	lookTries = 3
)

// look reads the file's header from the server, again after a cut, and checks
// it as a file on disk is checked.
func (p *pull) look(ctx context.Context) (remote, *gguf.Info, error) {
	for try := 1; ; try++ {
		r, info, err := p.lookOnce(ctx)
		if !errors.Is(err, ErrConnection) || ctx.Err() != nil {
			return r, info, err
		}
		if try == min(p.Tries, lookTries) {
			return r, nil, fmt.Errorf("%s: the header could not be read in %d tries: %w", p.file.URL, try, err)
		}
		p.note("%v: trying again", err)
		if err := pause(ctx, p.Pause<<(try-1)); err != nil {
			return r, nil, err
		}
	}
}

func (p *pull) lookOnce(ctx context.Context) (remote, *gguf.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := p.watch(cancel)
	defer watch.Stop()
	resp, err := p.get(ctx, fmt.Sprintf("0-%d", block-1), "")
	if err != nil {
		return remote{}, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return remote{}, nil, fmt.Errorf("%s: the file is empty (0 bytes): check the address", p.file.URL)
	}
	r, err := describe(resp)
	if err != nil {
		return r, nil, err
	}
	size := r.size
	if size < 0 {
		size = math.MaxInt64
	}
	src := &headerSource{watch: watch, stall: p.Stall}
	if r.ranges {
		src.more = func(at int64) ([]byte, error) {
			return p.fetchBlock(ctx, r, at)
		}
		if src.have, err = io.ReadAll(io.LimitReader(resp.Body, block)); err != nil {
			return r, nil, fmt.Errorf("%w: %w", ErrConnection, err)
		}
	} else {
		src.more = func(int64) ([]byte, error) {
			b := make([]byte, 64<<10)
			n, err := resp.Body.Read(b)
			return b[:n], err
		}
	}
	info, err := gguf.CheckReader(p.file.URL, src, size)
	if src.err != nil { // the file is not to blame
		return r, nil, src.err
	}
	return r, info, err
}

// fetchBlock gets the bytes from an offset on, of the same version.
func (p *pull) fetchBlock(ctx context.Context, r remote, at int64) ([]byte, error) {
	resp, err := p.get(ctx, fmt.Sprintf("%d-%d", at, at+block-1), r.validator)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return nil, io.EOF
	}
	first, total, err := contentRange(resp)
	if err != nil || first != at || total != r.size || validatorOf(resp) != r.validator {
		return nil, errChanged
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, block))
	if err == nil && len(b) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// headerSource keeps the file's beginning, as far as it was asked for.
type headerSource struct {
	have  []byte
	more  func(at int64) ([]byte, error)
	watch *time.Timer
	stall time.Duration
	err   error // why the server gave no more; nil where the file ended
}

// ReadAt implements io.ReaderAt.
func (s *headerSource) ReadAt(b []byte, off int64) (int, error) {
	if off > maxHeader {
		return 0, fmt.Errorf("its header goes past %d MB, which no model's does", maxHeader>>20)
	}
	for int64(len(s.have)) < off+int64(len(b)) {
		got, err := s.more(int64(len(s.have)))
		s.watch.Reset(s.stall)
		s.have = append(s.have, got...)
		switch {
		case err == io.EOF:
			if int64(len(s.have)) <= off {
				return 0, io.EOF
			}
			return copy(b, s.have[off:]), io.EOF
		case errors.Is(err, errChanged):
			s.err = err
			return 0, err
		case err != nil:
			s.err = fmt.Errorf("%w: %w", ErrConnection, err)
			return 0, s.err
		}
	}
	return copy(b, s.have[off:]), nil
}

// watch calls cancel when it was not reset for as long as a server may be
// silent.
func (p *pull) watch(cancel func()) *time.Timer { return time.AfterFunc(p.Stall, cancel) }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(min(d, 30*time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
