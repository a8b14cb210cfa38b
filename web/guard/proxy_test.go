package guard

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	proxies, err := NewProxies([]string{"192.0.2.7", "2001:db8::7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ peer, header, want string }{
		{"192.0.2.9:1", "", "192.0.2.9"},
		{"192.0.2.9:1", "203.0.113.1", "192.0.2.9"}, // anyone can write a header
		{"192.0.2.7:1", "203.0.113.1", "203.0.113.1"},
		{"[::ffff:192.0.2.7]:1", "203.0.113.1", "203.0.113.1"},
		{"[2001:db8::7]:1", "2001:db8::99", "2001:db8::99"},
		{"192.0.2.7:1", "", "192.0.2.7"},
		{"192.0.2.7:1", "somebody", "192.0.2.7"},
	} {
		r := httptest.NewRequest("GET", "/ws", nil)
		r.RemoteAddr = tt.peer
		if tt.header != "" {
			r.Header.Set("X-Real-IP", tt.header)
		}
		if got := proxies.Client(r); got != tt.want {
			t.Errorf("%s with X-Real-IP %q is %s, want %s", tt.peer, tt.header, got, tt.want)
		}
	}
}

func TestProxiesAreAddresses(t *testing.T) {
	_, err := NewProxies([]string{"nginx.local", "192.0.2.7", "192.0.2.0/24"})
	if err == nil || !strings.Contains(err.Error(), `"nginx.local"`) || !strings.Contains(err.Error(), `"192.0.2.0/24"`) || strings.Contains(err.Error(), `"192.0.2.7"`) {
		t.Errorf("got %v", err)
	}
}
