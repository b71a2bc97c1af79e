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

	"github.com/ullage/ullage/internal/crowd"
	"github.com/ullage/ullage/internal/graceful"
)

// The deadlines of one connection. An answer is a few hundred KiB at most, so
// whoever needs longer is broken or hostile. A scraper that comes every minute
// connects again each time, which costs less than the memory of connections that
// wait for it.
const (
	readHeaderTimeout = 3 * time.Second
	readTimeout       = 5 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = 5 * time.Second
	shutdownTimeout   = 2 * time.Second
	maxHeaderBytes    = 4 << 10
	mostConnections   = 32
)

// Check says whether the sidecar is ready: nil, or an error whose text is the
// reason. It must be safe for concurrent use and must not block.
type Check func() error

// Server is the admin HTTP. Make one with [New]; call Run once.
type Server struct {
	http     *http.Server
	listener net.Listener // nil when it is off, or taken
	taken    string       // the address, while another process has it
	most     int          // connections
	log      *slog.Logger
	stopper  *graceful.Stopper
}

// takenPoll is how often an address is tried again that another process has.
const takenPoll = time.Second

// New listens at cfg.Listen at once, so that an address that cannot be had is an
// error at the start and no later surprise. One that is taken is none: no line
// is worth less than the metrics about it, and a sidecar that was killed in a
// call into a disk that stands still has its port until the disk is back. It is
// logged, and tried again by [Server.Run].
//
// Connections wait until Run; a Server that never runs must be closed with
// [Server.Close]. A nil ready is always ready. What status returns is encoded
// as JSON for /status.
func New(cfg Config, reg *prometheus.Registry, ready Check, status func() any, log *slog.Logger) (*Server, error) {
	s := &Server{log: log, most: cmp.Or(cfg.Connections, mostConnections)}
	s.http = &http.Server{
		// Allowed, because net/http logs a line for each refused semicolon,
		// and no stranger shall be able to write to our log.
		Handler:           http.AllowQuerySemicolons(newMux(reg, ready, status, log)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(serverErrors{log}, "", 0),
	}
	s.stopper = graceful.New(s.http, shutdownTimeout)
	if cfg.Listen == Off {
		return s, nil
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		log.Warn("admin address is taken", "listen", cfg.Listen, "error", err,
			"hint", "metrics and health are missing until a retry succeeds; set another --listen, or --listen off")
		s.taken = cfg.Listen
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the admin listener: %w (set another address with --listen, or --listen off)", err)
	}
	s.listener = crowd.Limit(l, s.most)
	return s, nil
}

// Addr is where the server listens, with the real port; nil when it does not.
// It must not be called during Run.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Close frees the address of a server that will not run.
func (s *Server) Close() error {
	if s.listener == nil {
		return nil
	}
	if err := s.listener.Close(); err != nil {
		return fmt.Errorf("close the admin listener: %w", err)
	}
	return nil
}

// Run serves until ctx ends, then lets requests under way finish for a moment,
// closes every connection and waits for the goroutines behind them. It returns
// nil after ctx ended, or the reason why serving stopped earlier. When the
// listener is off it only waits for ctx.
func (s *Server) Run(ctx context.Context) error {
	if s.taken != "" {
		s.retry(ctx)
	}
	if s.listener == nil {
		<-ctx.Done()
		return nil
	}
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve admin HTTP: %w", err), s.stop())
	case <-ctx.Done():
	}
	err := s.stop()
	<-served // ErrServerClosed, at once
	return err
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
			s.log.Info("admin address is free again", "listen", s.taken)
			s.listener = crowd.Limit(l, s.most)
		}
	}
}

func (s *Server) stop() error {
	if err := s.stopper.Stop(); err != nil {
		// Only a Check or a status function that blocks can lead here.
		return fmt.Errorf("stop admin HTTP: %w", err)
	}
	return nil
}
