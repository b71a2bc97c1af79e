package sinks

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy is between a sidecar and a server and simulates the faults of networks and servers.
type proxy struct {
	*httptest.Server
	fault  atomic.Value // a string, one of the faults below
	faults atomic.Int64 // the requests that met a fault
	token  string       // the token that requests must have; empty: none is required

	forward http.Handler
	gone    chan struct{} // the test is over
}

// The faults of a proxy. With passes, it has no fault.
const (
	passes    = "passes"
	busy      = "answers 503 with Retry-After"
	cuts      = "cuts the connection in the answer"
	slow      = "reads 64 KiB a second"
	swallows  = "answers 200 and stores nothing"
	hangs     = "reads the request and never answers"
	redirects = "answers 301"
	loses     = "passes the request on, and cuts the connection in the answer"
	crawls    = "reads 1 KiB a second"
	cutsEarly = "cuts the connection in the request"
	late      = "says 429 with a date of Retry-After, by a clock that is an hour behind"
)

// newProxy starts a proxy in front of a server.
func newProxy(t *testing.T, address string, pair tls.Certificate) *proxy {
	t.Helper()
	p := &proxy{gone: make(chan struct{})}
	p.fault.Store(passes)
	to := &url.URL{Scheme: "https", Host: address}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the host is signed
		},
		Transport:    &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.answer))
	p.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	p.Config.ErrorLog = nil
	p.StartTLS()
	t.Cleanup(func() { close(p.gone); p.CloseClientConnections(); p.Close() })
	return p
}

// answer forwards a request, or fails with the current fault.
func (p *proxy) answer(w http.ResponseWriter, r *http.Request) {
	fault := p.fault.Load().(string)
	if fault != passes {
		p.faults.Add(1)
	}
	if p.token != "" && r.Header.Get("Authorization") != p.token {
		p.faults.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch fault {
	case loses:
		p.forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case cutsEarly:
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		panic(http.ErrAbortHandler)
	case cuts:
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	case hangs:
		p.hang(r)
		panic(http.ErrAbortHandler)
	case late, busy, redirects:
		refuse(w, r, fault)
		return
	case slow, crawls:
		rate := 64 << 10
		if fault == crawls {
			rate = 1 << 10
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{&slowly{r.Body, rate, func() bool { return p.fault.Load() == fault }}, r.Body}
	case swallows:
		if r.Method != http.MethodGet {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
			return
		}
	}
	p.forward.ServeHTTP(w, r)
}

// hang reads a request, and returns once the fault has ended or the client is gone.
func (p *proxy) hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection would not be noticed
	for p.fault.Load() == hangs && r.Context().Err() == nil {
		select {
		case <-p.gone:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// refuse answers with the status of a fault.
func refuse(w http.ResponseWriter, r *http.Request, fault string) {
	if fault != redirects {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	switch fault {
	case late:
		behind := time.Now().Add(-time.Hour).UTC()
		w.Header().Set("Date", behind.Format(http.TimeFormat))
		w.Header().Set("Retry-After", behind.Add(2*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	case busy:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	case redirects:
		w.Header().Set("Location", "https://example.invalid/")
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

// slowly reads at most rate bytes a second as long as the function still returns true.
type slowly struct {
	from  io.Reader
	rate  int
	still func() bool
}

func (s *slowly) Read(p []byte) (int, error) {
	if !s.still() {
		return s.from.Read(p)
	}
	n, err := s.from.Read(p[:min(len(p), max(s.rate/10, 1))])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	return n, err
}
