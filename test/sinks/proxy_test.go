package sinks

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
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
	cutsIn    = "cuts the connection in the request"
	slow      = "takes 1 KiB a second"
	late      = "has a clock that is an hour late, and says 503 by it"
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
		case cutsIn:
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			panic(http.ErrAbortHandler)
		case late:
			_, _ = io.Copy(io.Discard, r.Body)
			clock := time.Now().UTC().Add(-time.Hour)
			w.Header().Set("Date", clock.Format(http.TimeFormat))
			w.Header().Set("Retry-After", clock.Add(2*time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case slow:
			r.Body = struct {
				io.Reader
				io.Closer
			}{&slowly{r.Body, p}, r.Body}
		case swallows:
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/log/") {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
				return
			}
		case hangs:
			_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection would not be seen
			for p.fault.Load() == hangs && r.Context().Err() == nil {
				select {
				case <-gone:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
			panic(http.ErrAbortHandler)
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

// slowly reads 1 KiB a second, for as long as the proxy is slow.
type slowly struct {
	from  io.Reader
	proxy *proxy
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.proxy.fault.Load() != slow {
		return s.from.Read(p)
	}
	n, err := s.from.Read(p[:min(len(p), 256)])
	time.Sleep(time.Duration(n) * time.Second / (1 << 10))
	return n, err
}
