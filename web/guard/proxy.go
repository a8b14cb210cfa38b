package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
)

// Proxies are the reverse proxies that are believed when they say whose request
// they pass on. They are immutable and may be used from any goroutine.
type Proxies struct{ trusted map[netip.Addr]bool }

// NewProxies takes IP addresses. It reports every one that is none.
func NewProxies(addresses []string) (*Proxies, error) {
	p := &Proxies{trusted: map[netip.Addr]bool{}}
	var faults []error
	for _, a := range addresses {
		addr, err := netip.ParseAddr(a)
		if err != nil {
			faults = append(faults, fmt.Errorf("--trust-proxy %q is not an IP address: give one such as 192.168.1.2", a))
			continue
		}
		p.trusted[addr.Unmap()] = true
	}
	return p, errors.Join(faults...)
}

// Client is the address from which a request comes, without a port: that of the
// connection, or the one in X-Real-IP where a trusted proxy made it. Anyone can
// write that header, so from all others it counts for nothing.
func (p *Proxies) Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if peer, err := netip.ParseAddr(host); err == nil && p.trusted[peer.Unmap()] {
		if client, err := netip.ParseAddr(r.Header.Get("X-Real-IP")); err == nil {
			return client.Unmap().String()
		}
	}
	return host
}
