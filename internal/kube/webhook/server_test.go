package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/ullage/ullage/internal/kube/certs"
	"github.com/ullage/ullage/test/lab"
)

// rig is a running server.
type rig struct {
	*Server
	log  *lab.Journal
	stop func() error // ends Run and returns its error
	end  context.CancelFunc
}

func start(t testing.TB, mutate Mutate, delay time.Duration) *rig {
	t.Helper()
	r := &rig{log: &lab.Journal{}}
	cfg := DefaultConfig()
	cfg.Listen, cfg.ShutdownDelay = "127.0.0.1:0", delay
	serving, err := certs.New(certificate(t), prometheus.NewRegistry(), r.log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	if r.Server, err = New(cfg, serving, mutate, prometheus.NewRegistry(), r.log.Logger()); err != nil {
		t.Fatal(err)
	}
	if r.Ready() == nil {
		t.Error("the server is ready before it runs, want it not ready")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var keeping sync.WaitGroup
	keeping.Go(func() { serving.Run(ctx) })
	go func() { done <- r.Run(ctx) }()
	r.end = cancel
	r.stop = sync.OnceValue(func() error { cancel(); keeping.Wait(); return <-done })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the error of Run is %v, want none\n%s", err, r.log)
		}
	})
	lab.Eventually(t, within, "ready", func() bool { return r.Ready() == nil })
	return r
}

// certificate returns the configuration of a certificate in files.
func certificate(t testing.TB) certs.Config {
	t.Helper()
	cert, key := lab.Certificate(t, "injector.shop-system.svc")
	return certs.Config{TLSCert: cert, TLSKey: key}
}

// client returns an HTTP client that behaves like an API server's.
func (r *rig) client(t *testing.T, tune ...func(*http.Transport)) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 100, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, f := range tune {
		f(transport)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: lab.Patience}
}

func (r *rig) url() string { return "https://" + r.Addr().String() + "/mutate?timeout=5s" }

// review posts a review and returns its answer.
func (r *rig) review(c *http.Client, text string) (admissionv1.AdmissionReview, *http.Response, error) {
	resp, err := c.Post(r.url(), "application/json", strings.NewReader(text))
	if err != nil {
		return admissionv1.AdmissionReview{}, nil, err
	}
	defer resp.Body.Close()
	var a admissionv1.AdmissionReview
	if resp.StatusCode != 200 {
		text, _ := io.ReadAll(resp.Body)
		return a, resp, fmt.Errorf("the answer is %s: %s", resp.Status, text)
	}
	err = json.NewDecoder(resp.Body).Decode(&a)
	_, _ = io.Copy(io.Discard, resp.Body) // otherwise the connection is not reused
	return a, resp, err
}

func TestServeOverTLS(t *testing.T) {
	r := start(t, mutateTest, 0)
	c := r.client(t)
	a, resp, err := r.review(c, body("web"))
	if err != nil || string(a.Response.Patch) != testPatch {
		t.Fatalf("the answer is %+v, error %v; want the patch %s and no error", a, err, testPatch)
	}
	if resp.ProtoMajor != 1 || resp.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%s, TLS %x; want HTTP/1 and at least TLS %x", resp.Proto, resp.TLS.Version, tls.VersionTLS12)
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
			t.Errorf("%s %s has code %d, want %d", k.method, k.path, resp.StatusCode, k.code)
		}
	}
	_, _, err = r.review(r.client(t, func(tr *http.Transport) {
		tr.TLSClientConfig.MinVersion, tr.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	}), body("web"))
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf(`TLS 1.1: %v, want "protocol version" in it`, err)
	}
	if _, _, err := r.review(r.client(t, func(tr *http.Transport) { tr.TLSClientConfig.MaxVersion = tls.VersionTLS12 }), body("web")); err != nil {
		t.Errorf("TLS 1.2: %v, want no error", err)
	}
}

func TestA10MiBReviewGetsItsAnswerOverTheWire(t *testing.T) {
	r := start(t, mutateTest, 0)
	text := body("web", `"field":1`, `"field":"`+strings.Repeat("x", 10<<20)+`"`)
	a, _, err := r.review(r.client(t), text)
	if err != nil || !a.Response.Allowed || len(a.Response.Warnings) != 1 {
		t.Errorf("the answer is %+v, error %v; want Allowed true, 1 warning and no error", a, err)
	}
}

func TestHTTP1IsAllThatIsSpoken(t *testing.T) {
	s := start(t, mutateTest, 0)
	if _, err := New(Config{Listen: s.Addr().String()}, nil, mutateTest, prometheus.NewRegistry(), s.log.Logger()); err == nil || !strings.Contains(err.Error(), "--webhook-listen") {
		t.Errorf(`a taken port: %v, want "--webhook-listen" in it`, err)
	}
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p := conn.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf(`the protocol is %q, want "http/1.1"`, p)
	}
	fmt.Fprintf(conn, "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body("web")), body("web"))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("the response is %v, error %v, want 200", resp, err)
	}
}
