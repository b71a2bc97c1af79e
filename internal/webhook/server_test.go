package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// rig is a running server with self-made certificates.
type rig struct {
	*Server
	api   *fakeAPI
	clock *clock // of the certificates
	log   *journal
	stop  func() error // ends Run and returns its error
	end   context.CancelFunc
}

func start(t *testing.T, mutate Mutate, delay time.Duration) *rig {
	t.Helper()
	r := &rig{api: newFakeAPI(t), clock: newClock(), log: &journal{}}
	r.clock.at = time.Now()
	cfg := DefaultConfig()
	cfg.Listen, cfg.ShutdownDelay, cfg.Cluster = "127.0.0.1:0", delay, r.api.cluster
	cfg.Secret, cfg.Service, cfg.Namespace, cfg.Configuration = "certs", "injector", "shop-system", "ullage"
	s, err := New(cfg, mutate, prometheus.NewRegistry(), r.log.logger())
	if err != nil {
		t.Fatal(err)
	}
	if s.Ready() == nil {
		t.Error("ready before it runs")
	}
	r.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.end = cancel
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v\n%s", err, r.log)
		}
	})
	eventually(t, "ready", func() bool { return s.Ready() == nil })
	return r
}

// client returns what an API server would call with: it trusts the caBundle of
// the moment, at the moment of the certificates' clock.
func (r *rig) client(t *testing.T, tune ...func(*http.Transport)) *http.Client {
	transport := &http.Transport{
		MaxIdleConnsPerHost: 100,
		ForceAttemptHTTP2:   true,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // in favour of:
			VerifyConnection: func(state tls.ConnectionState) error {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM([]byte(r.api.bundles()[0]))
				_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: "injector.shop-system.svc", CurrentTime: r.clock.now()})
				return err
			},
		},
	}
	for _, f := range tune {
		f(transport)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func (r *rig) url() string { return "https://" + r.Addr().String() + "/mutate?timeout=5s" }

// review posts a review and returns its answer.
func (r *rig) review(c *http.Client, text string) (answer, *http.Response, error) {
	resp, err := c.Post(r.url(), "application/json", strings.NewReader(text))
	if err != nil {
		return answer{}, nil, err
	}
	defer resp.Body.Close()
	var a answer
	if resp.StatusCode != 200 {
		text, _ := io.ReadAll(resp.Body)
		return a, resp, fmt.Errorf("%s: %s", resp.Status, text)
	}
	err = json.NewDecoder(resp.Body).Decode(&a)
	_, _ = io.Copy(io.Discard, resp.Body) // or the connection is not used again
	return a, resp, err
}

func TestServeOverTLS(t *testing.T) {
	r := start(t, mutateTest, 0)
	c := r.client(t)
	a, resp, err := r.review(c, body("web"))
	if err != nil || string(a.Response.Patch) != testPatch {
		t.Fatalf("%+v, %v", a, err)
	}
	if resp.ProtoMajor != 1 || resp.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%s, TLS %x", resp.Proto, resp.TLS.Version)
	}
	for _, k := range []struct {
		method, path string
		code         int
	}{{"GET", "/mutate", 405}, {"PUT", "/mutate", 405}, {"POST", "/", 404}, {"GET", "/metrics", 404}, {"POST", "/mutate/x", 404}} {
		req, err := http.NewRequest(k.method, "https://"+r.Addr().String()+k.path, strings.NewReader(body("web")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != k.code {
			t.Errorf("%s %s: %d", k.method, k.path, resp.StatusCode)
		}
	}
	_, _, err = r.review(r.client(t, func(tr *http.Transport) {
		tr.TLSClientConfig.MinVersion, tr.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	}), body("web"))
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
	}
	if _, _, err := r.review(r.client(t, func(tr *http.Transport) { tr.TLSClientConfig.MaxVersion = tls.VersionTLS12 }), body("web")); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	if !r.CertificateExpiry().After(time.Now().Add(89 * 24 * time.Hour)) {
		t.Errorf("expiry %s", r.CertificateExpiry())
	}
}

func TestA10MiBReviewGetsItsAnswerOverTheWire(t *testing.T) {
	r := start(t, mutateTest, 0)
	text := body("web", `"field":1`, `"field":"`+strings.Repeat("x", 10<<20)+`"`)
	a, _, err := r.review(r.client(t), text)
	if err != nil || !a.Response.Allowed || len(a.Response.Warnings) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRenewalsWhileConnectionsAreInUse renews the serving certificate and the
// CA while 50 clients send reviews, half of them over a new connection each time.
func TestRenewalsWhileConnectionsAreInUse(t *testing.T) {
	r := start(t, mutateTest, 0)
	other := newReplica(t, r.api, r.clock) // which the server is to follow
	stop := make(chan struct{})
	var work sync.WaitGroup
	var reviews atomic.Int64
	defer func() { close(stop); work.Wait() }()
	for i := range 50 {
		c := r.client(t, func(tr *http.Transport) { tr.DisableKeepAlives = i%2 == 0 })
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond): // leaves CPU time to those who renew
				}
				if a, _, err := r.review(c, body("web")); err != nil || !a.Response.Allowed || len(a.Response.Patch) == 0 {
					t.Errorf("%+v, %v", a, err)
					return
				}
				reviews.Add(1)
			}
		})
	}
	// The server's own keeper goes by the real time and would notice nothing. So
	// what it shows is looked after by one that goes by the test's.
	follower := newReplica(t, r.api, r.clock)
	follower.shown = r.shown
	serials := map[string]bool{}
	for range 14 {
		for range 2 { // a new CA is settled at the second look
			r.clock.add(settleTime)
			other.mustLook(t)
			follower.mustLook(t)
		}
		serials[follower.serial()] = true
		before := reviews.Load()
		eventually(t, "reviews with this certificate", func() bool { return t.Failed() || reviews.Load() > before+50 })
		r.clock.add(20 * 24 * time.Hour)
	}
	if len(serials) < 5 {
		t.Errorf("only %d certificates", len(serials))
	}
	t.Logf("%d reviews, %d certificates", reviews.Load(), len(serials))
}

// startWithFiles runs a server whose certificate is in the files of cfg.
func startWithFiles(t testing.TB, cfg Config, mutate Mutate) *Server {
	t.Helper()
	cert, key := pair(t, time.Now(), time.Hour)
	write(t, cfg.TLSCert, cert)
	write(t, cfg.TLSKey, key)
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatal(bad)
	}
	s, err := New(cfg, mutate, prometheus.NewRegistry(), (&journal{}).logger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "ready", func() bool { return s.Ready() == nil })
	return s
}

func TestACertificateFromFilesIsServed(t *testing.T) {
	dir := t.TempDir()
	cfg := DefaultConfig()
	cfg.Listen, cfg.ShutdownDelay = "127.0.0.1:0", 0
	cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	s := startWithFiles(t, cfg, mutateTest)
	if _, err := New(Config{Listen: s.Addr().String(), TLSCert: "x", TLSKey: "x"}, mutateTest, prometheus.NewRegistry(), (&journal{}).logger()); err == nil || !strings.Contains(err.Error(), "--webhook-listen") {
		t.Errorf("a taken port: %v", err)
	}
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p := conn.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf("protocol %q", p)
	}
	fmt.Fprintf(conn, "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body("web")), body("web"))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("%v, %v", resp, err)
	}
}
