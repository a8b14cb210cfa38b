package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"

	"pichat/cmd/pichat/boot"
)

// download fills the part up to the file's size, over as many connections as
// it takes.
func (p *pull) download(ctx context.Context, r remote, have int64) error {
	f, err := os.OpenFile(p.part, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	d := &transfer{pull: p, remote: r, file: f, have: have}
	furthest, lost := have, 0
	for {
		err := d.once(ctx)
		if !errors.Is(err, ErrConnection) || ctx.Err() != nil {
			return err
		}
		if d.have > furthest {
			furthest, lost = d.have, 0
		}
		if lost++; lost >= p.Tries {
			return fmt.Errorf("%s: %d connections in a row failed at byte %d%s: %w; what is there stays in %s, and the same command goes on from it",
				p.file.URL, lost, d.have, of(r.size), err, p.part)
		}
		p.note("%v at byte %d%s: trying again", err, d.have, of(r.size))
		if err := pause(ctx, p.Pause<<(lost-1)); err != nil {
			return err
		}
	}
}

func of(size int64) string {
	if size < 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", size)
}

// transfer is a part that grows.
type transfer struct {
	*pull
	remote
	file *os.File
	have int64 // bytes of the file that are stored
}

// once gets what is missing over one connection.
func (d *transfer) once(ctx context.Context) error {
	if d.size >= 0 && d.have == d.size {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := d.watch(cancel)
	defer watch.Stop()
	resp, err := d.ask(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	buffer := make([]byte, 256<<10)
	for {
		n, readErr := resp.Body.Read(buffer)
		watch.Reset(d.Stall)
		if d.size >= 0 && d.have+int64(n) > d.size {
			d.discard()
			return fmt.Errorf("%s: the server sends more than the %d bytes it announced: nothing was kept; choose another address", d.pull.file.URL, d.size)
		}
		if err := d.store(buffer[:n]); err != nil {
			return err
		}
		switch {
		case readErr == io.EOF && d.size >= 0 && d.have < d.size:
			return fmt.Errorf("%w: it ended too soon", ErrConnection)
		case readErr == io.EOF:
			return nil
		case readErr != nil:
			return fmt.Errorf("%w: %w", ErrConnection, readErr)
		}
	}
}

// ask requests the bytes that are missing and sets the file to where they
// belong.
func (d *transfer) ask(ctx context.Context) (*http.Response, error) {
	if d.have > 0 && !d.continues(d.pull.file) {
		d.note("this server cannot go on in the middle of a file: from the beginning")
		d.have = 0
	}
	var resp *http.Response
	var err error
	if d.have > 0 {
		resp, err = d.get(ctx, fmt.Sprintf("%d-", d.have), d.validator)
	} else {
		resp, err = d.get(ctx, "", "")
	}
	if err != nil {
		return nil, err
	}
	if err = d.match(resp); err == nil {
		err = d.seek()
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// continues reports whether the rest can be asked for: the server must give
// parts, and either name its version or be held to a checksum.
func (r remote) continues(f File) bool {
	return r.ranges && (r.validator != "" || f.SHA256 != "")
}

// match holds an answer against what the server said before.
func (d *transfer) match(resp *http.Response) error {
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		d.discard()
		return fmt.Errorf("%s: the server said that the file has %d bytes and now has none after %d: nothing was kept; choose another address", d.pull.file.URL, d.size, d.have)
	}
	if validatorOf(resp) != d.validator {
		return errChanged
	}
	if resp.StatusCode == http.StatusOK {
		if d.have > 0 { // of the same version, but whole
			d.have = 0
		}
		if resp.ContentLength >= 0 && d.size >= 0 && resp.ContentLength != d.size {
			return errChanged
		}
		return nil
	}
	first, total, err := contentRange(resp)
	if err != nil || first != d.have || total != d.size {
		return errChanged
	}
	return nil
}

func (d *transfer) seek() error {
	if err := d.file.Truncate(d.have); err != nil {
		return err
	}
	_, err := d.file.Seek(d.have, io.SeekStart)
	return err
}

// store writes bytes behind those that are there. What a full disk took of
// them stays, for another try.
func (d *transfer) store(b []byte) error {
	n, err := d.write(d.file, b)
	d.have += int64(n)
	d.progress(d.have, d.size)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: it is full after %s%s: make room, and the same command goes on from %s",
			ErrNoRoom, boot.Bytes(uint64(d.have)), ofBytes(d.size), d.part)
	}
	return err
}

func ofBytes(size int64) string {
	if size < 0 {
		return ""
	}
	return " of " + boot.Bytes(uint64(size))
}
