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
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/crowd"
	"github.com/ullage/ullage/internal/graceful"
)

// The deadlines of one connection. An API server waits 30 s for an answer at
// the most, and sends a review at once.
const (
	readHeaderTimeout = 3 * time.Second // and the TLS handshake
	readTimeout       = 5 * time.Second
	writeTimeout      = 30 * time.Second
	// An API server drops an idle connection after 90 s. It must be the one to
	// do so: a review that it sends into a connection as we close it is lost.
	idleTimeout    = 3 * time.Minute
	drainTimeout   = 10 * time.Second
	maxHeaderBytes = 16 << 10
	// maxConns is for several API servers, of which each keeps 25 idle ones at
	// most. When there are more, the idlest is closed.
	maxConns = 512
)

// Server is the webhook. Make one with [New]; call Run once.
type Server struct {
	cfg      Config
	http     *http.Server
	stopper  *graceful.Stopper
	listener net.Listener
	handler  *handler
	shown    *shown
	keep     func(context.Context) // looks after what is shown, until its context ends
	trusted  func() error          // why API servers may not trust what is shown
	serving  atomic.Bool
}

// New listens at cfg.Listen at once, so that a taken port is an error at the
// start. cfg must be valid. Connections wait until [Server.Run]; a Server that
// never runs must be closed with [Server.Close]. No certificate need exist yet:
// until there is one, [Server.Ready] says what is missing.
func New(cfg Config, mutate Mutate, reg prometheus.Registerer, log *slog.Logger) (*Server, error) {
	m := newMetrics(reg)
	s := &Server{cfg: cfg, handler: newHandler(cfg, mutate, m, log), shown: newShown(m)}
	if cfg.selfMade() {
		api, err := newClient(cfg.Cluster, m)
		if err != nil {
			return nil, err
		}
		k := newKeeper(cfg, api, s.shown, log)
		s.keep, s.trusted = k.run, k.trusted
	} else {
		f := &files{cert: cfg.TLSCert, key: cfg.TLSKey, shown: s.shown, log: log, now: time.Now}
		s.keep, s.trusted = f.run, func() error { return nil }
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("open the webhook's listener: %w (take another address with --webhook-listen)", err)
	}
	s.listener = crowd.Limit(l, maxConns)
	s.http = s.newHTTP()
	s.stopper = graceful.New(s.http, drainTimeout)
	return s, nil
}

func (s *Server) newHTTP() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("POST /mutate", s.handler)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           http.AllowQuerySemicolons(mux), // else each refused one is logged
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(s.handler.quiet, "", 0),
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: s.shown.get,
			// API servers resume no sessions. Without them each connection is
			// made with the certificate of the moment.
			SessionTicketsDisabled: true,
		},
	}
}

// Addr is where the server listens, with the real port.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close frees the address of a server that will not run.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil {
		return fmt.Errorf("close the webhook's listener: %w", err)
	}
	return nil
}

// Ready returns nil while API servers can use the server, and else why not: it
// does not run, it is stopping, it has no certificate that is valid now, or
// the caBundle of the webhook configuration has not been seen to hold its CA.
// It does not block.
func (s *Server) Ready() error {
	switch {
	case !s.serving.Load():
		return errors.New("the webhook is not served")
	case s.handler.leaving.Load():
		return errors.New("the webhook is stopping")
	}
	if err := s.shown.check(time.Now()); err != nil {
		return err
	}
	return s.trusted()
}

// CertificateExpiry is when the serving certificate expires; zero while there
// is none.
func (s *Server) CertificateExpiry() time.Time { return s.shown.expiry() }

// Run serves until ctx ends, goes on for the shutdown delay, lets reviews under
// way finish, and waits for all goroutines. It returns nil after ctx ended, or
// the reason why serving stopped earlier. A certificate that is missing, or an
// API that is down, is no such reason: it is waited for.
func (s *Server) Run(ctx context.Context) error {
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	var work errgroup.Group
	work.Go(func() error { s.keep(keeping); return nil })
	err := s.serve(ctx)
	stopKeeping()
	return errors.Join(err, work.Wait())
}

func (s *Server) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.ServeTLS(s.listener, "", "") }()
	s.serving.Store(true)
	defer s.serving.Store(false)
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve the webhook: %w", err), s.stop())
	case <-ctx.Done():
	}
	s.handler.leaving.Store(true)
	delay := time.NewTimer(s.cfg.ShutdownDelay)
	defer delay.Stop()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve the webhook: %w", err), s.stop())
	case <-delay.C:
	}
	err := s.stop()
	<-served // ErrServerClosed, at once
	return err
}

// stop ends every connection, those under way after their answer.
func (s *Server) stop() error {
	if s.stopper.Stop() != nil { // a handler does not return
		return errors.New("stop the webhook: a review is not decided about")
	}
	return nil
}
