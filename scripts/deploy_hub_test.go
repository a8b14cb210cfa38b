package scripts_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// hubName is the host that the catalogue's addresses name.
const hubName = "huggingface.co"

// hub is a model hub on loopback that has one file. The program reaches it as
// it does the real one: through the proxy that its environment names, with the
// certificates that the environment names. It is told nothing else.
type hub struct {
	t     *testing.T
	proxy string // the proxy's address
	roots string // file of the certificate to trust
	plain string // address of the same hub without TLS

	mu    sync.Mutex
	file  []byte
	html  string // served in place of the file
	cut   int    // bytes of the body after which the hub is gone; 0 for never
	gone  bool
	asked []string // "PATH RANGE" of each request
}

func newHub(t *testing.T, file []byte) *hub {
	t.Helper()
	h := &hub{t: t, file: file}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	secure.Config.ErrorLog = nil
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{h.certificate()}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(plain.Close)
	h.plain = plain.URL
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.tunnel(w, r, secure.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	h.proxy = proxy.URL
	return h
}

// certificate makes one for the hub's name and stores it for those who trust it.
func (h *hub) certificate() tls.Certificate {
	h.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hubName}, DNSNames: []string{hubName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		h.t.Fatal(err)
	}
	h.roots = filepath.Join(h.t.TempDir(), "roots.pem")
	write(h.t, h.roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// environ is what makes a program on the box reach this hub.
func (h *hub) environ() []string {
	return []string{"HTTPS_PROXY=" + h.proxy, "SSL_CERT_FILE=" + h.roots}
}

// tunnel answers CONNECT for the hub's name alone.
func (h *hub) tunnel(w http.ResponseWriter, r *http.Request, to string) {
	h.mu.Lock()
	gone := h.gone
	h.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != hubName+":443" || gone {
		panic(http.ErrAbortHandler)
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	down, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	_ = buffered.Flush()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{up, down}, {down, up}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
	_ = up.Close()
	_ = down.Close()
	<-done
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked = append(h.asked, r.URL.Path+" "+r.Header.Get("Range"))
	file, html, cut, gone := h.file, h.html, h.cut, h.gone
	h.mu.Unlock()
	switch {
	case gone:
		panic(http.ErrAbortHandler)
	case html != "":
		_, _ = io.WriteString(w, html)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(file)))
	if cut > 0 && r.Header.Get("Range") == "" { // not the header
		w = &leaving{ResponseWriter: w, hub: h, left: cut}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
}

// leaving is an answer in whose middle the hub goes away.
type leaving struct {
	http.ResponseWriter
	hub  *hub
	left int
}

func (l *leaving) Write(b []byte) (int, error) {
	n, err := l.ResponseWriter.Write(b[:min(len(b), l.left)])
	if l.left -= n; l.left == 0 {
		l.hub.set(func() { l.hub.gone = true })
		_ = http.NewResponseController(l.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// set changes the hub between two requests.
func (h *hub) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// requests returns what was asked since it was called last.
func (h *hub) requests() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := strings.Join(h.asked, "\n")
	h.asked = nil
	return all
}
