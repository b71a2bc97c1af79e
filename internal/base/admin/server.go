package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/web"
)

// The deadlines of one connection. An answer is a few hundred KiB at most, so a client that
// needs longer is broken or hostile. A scraper that scrapes once a minute has to connect again
// each time, which costs less than the memory of idle connections.
const (
	readHeaderTimeout = 3 * time.Second
	readTimeout       = 5 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = 5 * time.Second
	shutdownTimeout   = 2 * time.Second
	maxHeaderBytes    = 4 << 10
	mostConnections   = 32
)

// Check reports whether the sidecar is ready: nil, or an error whose text is
// the reason. It must be safe for concurrent use and must not block.
type Check func() error

// Answers are the functions that the handlers call, at any time and concurrently.
type Answers struct {
	Ready  Check         // nil: always ready
	Status func() any    // what /status returns as JSON
	Recent func() Recent // what /recent returns as JSON; nil: there is no /recent and no page
}

// Server is the admin HTTP. Make one with [New]; call Run once.
type Server struct {
	http     *http.Server
	listener net.Listener // nil when the listener is off, or its address is taken
	taken    string       // the address if another process had it when New was called; otherwise empty
	most     int          // the most open connections
	log      *slog.Logger
	stopper  *web.Stopper
	local    local
}

// takenPoll is the time between two attempts to listen at a taken address.
const takenPoll = time.Second

// New listens at cfg.Listen at once, so that an invalid address is an error at the start. An
// address that another process has taken is not an error: shipping lines matters more than
// metrics, and a killed sidecar keeps its port until its last call to a stalled disk returns.
// New logs that, and [Server.Run] retries.
//
// Connections wait until Run. A Server that never runs must be closed with
// [Server.Close].
func New(cfg Config, reg *prometheus.Registry, of Answers, log *slog.Logger) (*Server, error) {
	s := &Server{log: log, most: cmp.Or(cfg.Connections, mostConnections), local: local{ended: make(chan struct{})}}
	s.http = &http.Server{
		// net/http logs a line for each semicolon that it rejects. Semicolons are allowed here so
		// that no client can write to our log.
		Handler:           http.AllowQuerySemicolons(answering(newMux(reg, of, log))),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(serverErrors{log}, "", 0),
	}
	s.stopper = web.NewStopper(s.http, shutdownTimeout)
	if cfg.Listen == Off {
		return s, nil
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		// messages.md#admin-http: Another sidecar on this machine has the port: give each its own
		// `--listen`; `ullage status --source DIR` fails if the sidecar of another source answers.
		// A killed sidecar that waits for the destination also keeps its port. Lines are shipped
		// meanwhile; metrics and health are missing.
		log.Warn("admin address is taken", "listen", cfg.Listen, "error", err,
			"hint", "metrics and health are missing until a retry succeeds; set another --listen, or --listen off")
		s.taken = cfg.Listen
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the admin listener: %w (set another address with --listen, or --listen off)", err)
	}
	s.listener = web.Limit(l, s.most)
	return s, nil
}

// Addr returns the address at which the server listens, with the actual port,
// or nil if the server does not listen. It must not be called during Run.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Run serves until ctx ends. Then it gives current requests a moment to finish, closes
// every connection and waits for the goroutines of the connections. It returns nil after
// ctx has ended, or the error that ended serving earlier. If the listener is off, Run
// only waits for ctx.
func (s *Server) Run(ctx context.Context) error {
	defer s.local.stop()
	if s.taken != "" {
		s.retry(ctx)
	}
	serve := func() error { return s.http.Serve(s.listener) }
	if s.listener == nil {
		serve = func() error { <-ctx.Done(); return nil }
	}
	if err := s.stopper.Serve(ctx.Done(), serve); err != nil {
		return fmt.Errorf("serve admin HTTP: %w", err)
	}
	return nil
}

// retry listens as soon as the address is free.
func (s *Server) retry(ctx context.Context) {
	again := time.NewTicker(takenPoll)
	defer again.Stop()
	for s.listener == nil {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if l, err := net.Listen("tcp", s.taken); err == nil {
			// messages.md#admin-http: Metrics and health are back.
			s.log.Info("admin address is free again", "listen", s.taken)
			s.listener = web.Limit(l, s.most)
		}
	}
}
