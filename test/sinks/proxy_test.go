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
)

func newProxy(t *testing.T, g *gateway) *proxy {
	t.Helper()
	p := &proxy{}
	p.fault.Store(passes)
	to, _ := url.Parse(fmt.Sprintf("https://127.0.0.1:%d", g.port))
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
		switch fault {
		case busy:
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case cuts:
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		case slow:
			r.Body = struct {
				io.Reader
				io.Closer
			}{&slowly{r.Body}, r.Body}
		case swallows:
			if r.Method == http.MethodPut {
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
	pair, err := tls.LoadX509KeyPair(g.ca(), g.dir+"/key.pem")
	g.must(err)
	p.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	p.Config.ErrorLog = nil
	p.StartTLS()
	t.Cleanup(func() { close(gone); p.CloseClientConnections(); p.Close() })
	return p
}

// slowly reads 64 KiB a second.
type slowly struct{ from io.Reader }

func (s *slowly) Read(p []byte) (int, error) {
	n, err := s.from.Read(p[:min(len(p), 6<<10)])
	time.Sleep(time.Duration(n) * time.Second / (64 << 10))
	return n, err
}
