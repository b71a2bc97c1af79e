package sinks

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy stands between a sidecar and a server, and does what networks and servers do.
type proxy struct {
	*httptest.Server
	fault  atomic.Value // a string, one of those below
	faults atomic.Int64 // requests that it spoiled
	token  string       // that requests must have; empty: any
}

// What a proxy does.
const (
	passes    = "passes"
	busy      = "says 503 with Retry-After"
	cuts      = "cuts the connection in the answer"
	slow      = "takes 64 KiB a second"
	swallows  = "says 200 and keeps nothing"
	hangs     = "takes the request and never answers"
	redirects = "says 301"
	loses     = "passes the request on, and cuts the connection in the answer"
	crawls    = "takes 1 KiB a second"
	cutsEarly = "cuts the connection in the request"
	late      = "says 429 with a date of Retry-After, by a clock that is an hour behind"
)

func newProxy(t *testing.T, g *gateway) *proxy {
	t.Helper()
	return newProxyTo(t, fmt.Sprintf("https://127.0.0.1:%d", g.port), g.pair())
}

func newProxyTo(t *testing.T, server string, pair tls.Certificate) *proxy {
	t.Helper()
	p := &proxy{}
	p.fault.Store(passes)
	to, _ := url.Parse(server)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // is signed
		},
		Transport:    &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	gone := make(chan struct{})
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := p.fault.Load().(string)
		if fault != passes {
			p.faults.Add(1)
		}
		if p.token != "" && r.Header.Get("Authorization") != p.token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch fault {
		case loses:
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case cutsEarly:
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			panic(http.ErrAbortHandler)
		case late:
			_, _ = io.Copy(io.Discard, r.Body)
			behind := time.Now().Add(-time.Hour).UTC()
			w.Header().Set("Date", behind.Format(http.TimeFormat))
			w.Header().Set("Retry-After", behind.Add(2*time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case busy:
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case cuts:
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		case slow, crawls:
			rate := 64 << 10
			if fault == crawls {
				rate = 1 << 10
			}
			r.Body = struct {
				io.Reader
				io.Closer
			}{&slowly{r.Body, rate}, r.Body}
		case swallows:
			if r.Method != http.MethodGet {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
				return
			}
		case hangs:
			select {
			case <-gone:
			case <-r.Context().Done():
			}
			return
		case redirects:
			w.Header().Set("Location", "https://example.invalid/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	p.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	p.Config.ErrorLog = nil
	p.StartTLS()
	t.Cleanup(func() { close(gone); p.CloseClientConnections(); p.Close() })
	return p
}

// slowly reads so many bytes a second.
type slowly struct {
	from io.Reader
	rate int
}

func (s *slowly) Read(p []byte) (int, error) {
	n, err := s.from.Read(p[:min(len(p), max(s.rate/10, 1))])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	return n, err
}
