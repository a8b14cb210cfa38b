package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errChanged means that two answers of the server are not of the same file.
var errChanged = errors.New("the server's file has changed")

// remote is what the server says of its file.
type remote struct {
	size      int64  // -1 where it does not say
	validator string // for If-Range: a strong ETag, else Last-Modified, else ""
	ranges    bool   // it gives parts
}

// newClient follows redirects, as model hubs send people to other hosts, but
// never from https to http. It has no cookies and no credentials.
func newClient(c Config) *http.Client {
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = 30 * time.Second
		if c.Stall > 0 {
			t.ResponseHeaderTimeout = min(t.ResponseHeaderTimeout, c.Stall)
		}
		t.DisableKeepAlives = true // a few requests, and nothing is left behind
		transport = t
	}
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errors.New("it redirects more than 10 times")
		case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
			return fmt.Errorf("it redirects from https to %s, which is not followed", req.URL.Scheme)
		}
		return nil
	}}
}

// get asks for the bytes from a range on; "" asks for all. Every status but
// 200, 206 and 416 is an error that says what to do. The caller closes the
// body.
func (p *pull) get(ctx context.Context, byteRange, ifRange string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.file.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "pichat")
	req.Header.Set("Accept-Encoding", "identity")
	if byteRange != "" {
		req.Header.Set("Range", "bytes="+byteRange)
	}
	if ifRange != "" {
		req.Header.Set("If-Range", ifRange)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if strings.Contains(err.Error(), "it redirects ") {
			return nil, err
		}
		var request *url.Error // names the address, as those above do again
		if errors.As(err, &request) {
			err = request.Err
		}
		return nil, fmt.Errorf("%w: %w", ErrConnection, err)
	}
	err = statusError(resp)
	if enc := resp.Header.Get("Content-Encoding"); err == nil && enc != "" && enc != "identity" {
		err = fmt.Errorf("%s: the server packs the file (%s) against what it was asked: choose another address", p.file.URL, enc)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func statusError(resp *http.Response) error {
	var what string
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent, code == http.StatusRequestedRangeNotSatisfiable:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		what = "the server wants to know who asks, and pichat sends no credentials: choose a model that is open to everyone, or fetch the file with a browser"
	case code == http.StatusNotFound, code == http.StatusGone:
		what = "the server has no such file: check the address"
	case code == http.StatusTooManyRequests:
		what = "the server has had too many requests from here: " + later(resp)
	case code >= 500:
		what = "the server is out of order: " + later(resp)
	default:
		what = "the server does not give the file"
	}
	return fmt.Errorf("%s: %s (it answers %s)", resp.Request.URL.Redacted(), what, resp.Status)
}

// later words Retry-After.
func later(resp *http.Response) string {
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		return fmt.Sprintf("try again in %s", time.Duration(s)*time.Second)
	}
	return "try again later"
}

// describe reads the answer to a request for the file's beginning or for all.
func describe(resp *http.Response) (remote, error) {
	r := remote{size: resp.ContentLength, validator: validatorOf(resp)}
	if resp.StatusCode == http.StatusPartialContent {
		first, total, err := contentRange(resp)
		if err != nil || first != 0 {
			return r, fmt.Errorf("%s: the server answers with another range than it was asked for (%q): choose another address",
				resp.Request.URL.Redacted(), resp.Header.Get("Content-Range"))
		}
		r.ranges, r.size = true, total
	}
	return r, nil
}

// validatorOf is what names this version of the file to the server. A weak
// ETag does not promise the same bytes.
func validatorOf(resp *http.Response) string {
	if tag := resp.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return resp.Header.Get("Last-Modified")
}

// contentRange reads "bytes 100-199/1000"; total is -1 for "*".
func contentRange(resp *http.Response) (first, total int64, err error) {
	text, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	span, all, ok2 := strings.Cut(text, "/")
	from, _, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, errors.New("no Content-Range")
	}
	if first, err = strconv.ParseInt(from, 10, 64); err != nil {
		return 0, 0, err
	}
	if all == "*" {
		return first, -1, nil
	}
	total, err = strconv.ParseInt(all, 10, 64)
	return first, total, err
}
