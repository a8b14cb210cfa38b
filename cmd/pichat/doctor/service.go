package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// service looks at the port and the folders.
func (c Config) service(ctx context.Context) []Finding {
	return []Finding{c.port(ctx), c.cache()}
}

// port tries to listen where the service would.
func (c Config) port(ctx context.Context) Finding {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err == nil {
		_ = listener.Close()
		return Finding{"port", c.Listen + " is free", OK, ""}
	}
	if version, ok := servedBy(ctx, c.Listen); ok {
		return Finding{"port", fmt.Sprintf("%s: pichat %s serves there already", c.Listen, version), OK, ""}
	}
	return Finding{"port", ListenError(c.Listen, err).Error(), Fault, "see above, or stop what listens there (ss -ltnp shows it)"}
}

// ListenError says why an address cannot be listened on, and what to do.
func ListenError(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another program: stop it, or take another port with --listen, such as --listen :8081", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be used by this user: ports below 1024 are reserved, take another with --listen, such as --listen :8080", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is no address of this machine: take one with --listen, such as --listen :8080 for all of them", address)
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

// servedBy asks whether another pichat answers at the address.
func servedBy(ctx context.Context, address string) (version string, ok bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return "", false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	var health struct {
		Version string `json:"version"`
	}
	if json.NewDecoder(http.MaxBytesReader(nil, response.Body, 1<<16)).Decode(&health) != nil || health.Version == "" {
		return "", false
	}
	return health.Version, true
}

// cache tries to write where tried models are remembered.
func (c Config) cache() Finding {
	if c.Cache == "" {
		return Finding{"cache folder", "none: neither a state folder nor a home is known", Warning, "name one with --cache DIR, so that a model is not tried anew at every start"}
	}
	err := os.MkdirAll(c.Cache, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(c.Cache, ".doctor-*"); err == nil {
			_ = f.Close()
			err = os.Remove(f.Name())
		}
	}
	if err != nil {
		return Finding{"cache folder", err.Error(), Warning, "make it writable, or name another with --cache DIR: until then a model is tried anew at every start"}
	}
	return Finding{"cache folder", c.Cache + " is writable", OK, ""}
}
