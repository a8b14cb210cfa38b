// Package guard keeps foreign web sites away from a server on a home or
// company network.
//
// A web page anywhere can make its visitor's browser send requests to an
// address in the visitor's own network. Two checks stop that. Every request
// must name a host that is known here, which defeats DNS rebinding: there the
// attacker's name points to this machine, and Origin and Host agree. And what
// changes something, or opens a websocket, must come from a page of this very
// server. See CVE-2024-28224 for a server of this kind that checked neither.
//
// It also tells whose request it is, where a proxy stands before the server.
package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"pichat/web/fault"
)

// Hosts is the list of names under which a server answers. It is immutable
// and may be used from any goroutine.
type Hosts struct {
	names map[string]bool
	extra map[string]bool // the configured ones
}

// New returns the policy of a machine: any IP address (an attack by name
// needs a name), localhost, hostname, hostname.local and the extra names.
// Case, ports and a trailing dot do not count. It reports every extra that is
// not a host name.
func New(hostname string, extra []string) (*Hosts, error) {
	h := &Hosts{names: map[string]bool{"localhost": true}, extra: map[string]bool{}}
	if name := canonical(hostname); name != "" {
		short, _, _ := strings.Cut(name, ".")
		for _, n := range []string{name, short, short + ".local"} {
			h.names[n] = true
		}
	}
	var faults []error
	for _, e := range extra {
		name := canonical(e)
		if !validName(name) {
			faults = append(faults, fmt.Errorf("--allow-host %q is not a host name: give a name such as chat.example.org, without scheme or path", e))
			continue
		}
		h.names[name], h.extra[name] = true, true
	}
	return h, errors.Join(faults...)
}

// Allows reports whether a Host header, with or without a port, names this
// server.
func (h *Hosts) Allows(hostport string) bool {
	host := canonical(hostport)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return h.names[host]
}

// CheckHost refuses a request whose Host is not known here with 421.
func (h *Hosts) CheckHost(r *http.Request) error {
	if h.Allows(r.Host) {
		return nil
	}
	return fault.Newf(http.StatusMisdirectedRequest, fault.CodeHostRefused,
		"This box does not answer to the name %q. Use its address by number or its host name. "+
			"If the name is yours (a DNS name or a VPN), start pichat with --allow-host %s", shown(r.Host), shown(r.Host))
}

// CheckOrigin refuses with 403 a request that another site's page caused. A
// request without Origin passes: browsers send it with every websocket and
// every POST, so that its sender is a program. An allowed origin is the
// request's own host and port, or a name configured by --allow-host, as which
// it arrives behind a proxy that rewrites Host.
func (h *Hosts) CheckOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && h.Allows(u.Host) {
		if h.extra[canonical(u.Host)] || sameHost(u.Host, r.Host) {
			return nil
		}
	}
	return fault.Newf(http.StatusForbidden, fault.CodeOriginRefused,
		"A page of %q may not use this box. If it is this box under a name of your own, start pichat with --allow-host %s",
		shown(origin), shown(strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")))
}

// sameHost compares name and port; the default ports of http and https count
// as none, since a proxy that ends TLS changes one into the other.
func sameHost(a, b string) bool {
	return canonical(a) == canonical(b) && port(a) == port(b)
}

// canonical is the bare host of hostport: lower case, no port, no brackets,
// no trailing dot.
func canonical(hostport string) string {
	host := strings.TrimSpace(hostport)
	if h, p, err := net.SplitHostPort(host); err == nil && strings.Trim(p, "0123456789") == "" {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func port(hostport string) string {
	_, p, err := net.SplitHostPort(hostport)
	if err != nil || p == "80" || p == "443" {
		return ""
	}
	return p
}

func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, c := range name {
		ok := c == '-' || c == '.' || c == '_' ||
			'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !ok {
			return false
		}
	}
	return true
}

// shown is what of a foreign name may stand in an answer: a host name's
// characters, not too many of them.
func shown(name string) string {
	name = strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`<>&"'`+"`", c) {
			return c
		}
		return -1
	}, name)
	const most = 100
	if len(name) > most {
		name = name[:most]
	}
	if name == "" {
		return "NAME"
	}
	return name
}
