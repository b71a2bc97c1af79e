package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/web"
	"github.com/ullage/ullage/internal/kube/certs"
)

// The deadlines of one connection. An API server waits at most 30 s for an
// answer and sends a review without a pause.
const (
	readHeaderTimeout = 3 * time.Second // also for the TLS handshake
	readTimeout       = 5 * time.Second
	writeTimeout      = 30 * time.Second
	// An API server closes an idle connection after 90 s. This server must not close
	// it first: a review that is sent while this server closes the connection is
	// lost.
	idleTimeout    = 3 * time.Minute
	drainTimeout   = 10 * time.Second
	maxHeaderBytes = 16 << 10
	// maxConns is enough for several API servers, each of which keeps at most 25 idle connections.
	// If there are more, the longest idle connection is closed.
	maxConns = 512
)

// Server is the webhook's server. Create one with [New] and call Run once.
type Server struct {
	cfg      Config
	http     *http.Server
	stopper  *web.Stopper
	listener net.Listener
	handler  *handler
	serving  *certs.Serving
	running  atomic.Bool
}

// New listens at cfg.Listen at once, so that it returns an error if the port is
// taken. cfg must be valid. Connections wait for [Server.Run]; a Server that never
// runs must be closed with [Server.Close]. The caller runs serving, which may get
// its certificate later: until then, handshakes fail.
func New(cfg Config, serving *certs.Serving, mutate Mutate, reg prometheus.Registerer, log *slog.Logger) (*Server, error) {
	s := &Server{cfg: cfg, handler: newHandler(cfg, mutate, newMetrics(reg, cfg.Reasons), log), serving: serving}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("open the webhook's listener: %w (set another address with --webhook-listen)", err)
	}
	s.listener = web.Limit(l, maxConns)
	s.http = s.newHTTP()
	s.stopper = web.NewStopper(s.http, drainTimeout)
	return s, nil
}

func (s *Server) newHTTP() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("POST /mutate", s.handler)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           http.AllowQuerySemicolons(mux), // otherwise net/http logs each URL with a semicolon
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(s.handler.quiet, "", 0),
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: s.serving.Get,
			// API servers do not resume sessions. Without sessions, each new connection uses the current
			// certificate.
			SessionTicketsDisabled: true,
		},
	}
}

// Addr returns the address at which the server listens, with the actual port.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the listener of a server that will not run.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil {
		return fmt.Errorf("close the webhook's listener: %w", err)
	}
	return nil
}

// Ready returns nil while API servers can use the server. Otherwise its error says
// why not: the server does not run, it is stopping, or API servers can't use its
// certificate. Ready does not block.
func (s *Server) Ready() error {
	switch {
	case !s.running.Load():
		return errors.New("the webhook is not running")
	case s.handler.leaving.Load():
		return errors.New("the webhook is stopping")
	}
	return s.serving.Ready()
}

// Run serves until ctx ends, continues for the shutdown delay, lets reviews in progress finish,
// and waits for all goroutines. It returns nil if it served until ctx ended, and otherwise the
// reason why serving stopped earlier.
func (s *Server) Run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	end := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		s.handler.leaving.Store(true)
		time.AfterFunc(s.cfg.ShutdownDelay, func() { close(end) })
	})()
	if err := s.stopper.Serve(end, func() error { return s.http.ServeTLS(s.listener, "", "") }); err != nil {
		return fmt.Errorf("serve the webhook: %w", err)
	}
	return nil
}
