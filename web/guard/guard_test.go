package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pichat/web/fault"
)

func newHosts(t *testing.T) *Hosts {
	t.Helper()
	h, err := New("PiKitchen", []string{"chat.example.org", "Box.TS.net:8080"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAllows(t *testing.T) {
	h := newHosts(t)
	tests := map[string]bool{
		"localhost":              true,
		"LOCALHOST:8080":         true,
		"localhost.":             true,
		"127.0.0.1":              true,
		"192.168.1.5:8080":       true,
		"[::1]:8080":             true,
		"[::1]":                  true,
		"::1":                    true,
		"[fe80::1%eth0]:8080":    true,
		"pikitchen":              true,
		"PiKitchen.local:80":     true,
		"pikitchen.local.":       true,
		"chat.example.org":       true,
		"CHAT.example.org.:8443": true,
		"box.ts.net":             true,
		"":                       false,
		"evil.test":              false,
		"evil.test:8080":         false,
		"localhost.evil.test":    false,
		"pikitchen.evil.test":    false,
		"127.0.0.1.evil.test":    false,
		"a.chat.example.org":     false,
		"2130706433":             false,
		"local":                  false,
	}
	for host, want := range tests {
		if got := h.Allows(host); got != want {
			t.Errorf("Allows(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestAllowsFullHostname(t *testing.T) {
	h, err := New("pi.lan.example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"pi.lan.example.org", "pi", "pi.local:8080"} {
		if !h.Allows(host) {
			t.Errorf("%s refused", host)
		}
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New("pi", []string{"http://a.test", "ok.test", "b.test/x", ""})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{`"http://a.test"`, `"b.test/x"`, `""`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %s", err, part)
		}
	}
}

func TestCheckHostNamesTheSetting(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "evil.test"
	f := fault.Of(newHosts(t).CheckHost(r))
	if f.Status != http.StatusMisdirectedRequest || !strings.Contains(f.Message, "--allow-host evil.test") {
		t.Errorf("got %d %q", f.Status, f.Message)
	}
	r.Host = "<script>alert(1)</script>\r\nX: y" + strings.Repeat("a", 500)
	if m := fault.Of(newHosts(t).CheckHost(r)).Message; strings.ContainsAny(m, "<>\r\n") || len(m) > 500 {
		t.Errorf("the name is repeated as it came: %q", m)
	}
}

func TestCheckOrigin(t *testing.T) {
	tests := []struct {
		name, origin, host string
		want               bool
	}{
		{"a program", "", "192.168.1.5:8080", true},
		{"own page by number", "http://192.168.1.5:8080", "192.168.1.5:8080", true},
		{"own page by name", "http://pikitchen.local:8080", "PiKitchen.local:8080", true},
		{"default port", "http://pikitchen", "pikitchen:80", true},
		{"behind TLS", "https://chat.example.org", "chat.example.org", true},
		{"proxy rewrites Host", "https://chat.example.org", "127.0.0.1:8080", true},
		{"foreign name", "http://evil.test", "192.168.1.5:8080", false},
		{"rebinding", "http://evil.test:8080", "evil.test:8080", false},
		{"foreign number", "http://203.0.113.9", "192.168.1.5:8080", false},
		{"another port of this box", "http://192.168.1.5:3000", "192.168.1.5:8080", false},
		{"localhost page to a LAN box", "http://localhost:8080", "192.168.1.5:8080", false},
		{"sandboxed page", "null", "192.168.1.5:8080", false},
		{"file", "file://", "192.168.1.5:8080", false},
		{"extension", "chrome-extension://abc", "192.168.1.5:8080", false},
		{"not a URL", "http://[::1", "[::1]:8080", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", nil)
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			err := newHosts(t).CheckOrigin(r)
			if (err == nil) != tt.want {
				t.Fatalf("got %v, want allowed=%v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), "--allow-host") {
				t.Errorf("%q does not name the setting", err)
			}
		})
	}
}
