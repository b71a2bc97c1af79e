package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Serving is the certificate of a server. Create one with [New] and call Run once. The other
// methods are safe for concurrent use.
type Serving struct {
	current atomic.Pointer[tls.Certificate] // its Leaf is set
	metrics metrics

	run     func(context.Context)
	trusted func() error // why API servers may not trust the current certificate
}

// New returns a Serving without a certificate; [Serving.Run] obtains one. cfg must be valid.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) (*Serving, error) {
	s := newServing(newMetrics(reg))
	if !cfg.selfMade() {
		f := &files{cert: cfg.TLSCert, key: cfg.TLSKey, serving: s, log: log, now: time.Now}
		s.run, s.trusted = f.run, func() error { return nil }
		return s, nil
	}
	api, err := newClient(cfg.Cluster, s.metrics)
	if err != nil {
		return nil, err
	}
	r := newRenewer(cfg, api, s, log)
	s.run, s.trusted = r.run, r.trusted
	return s, nil
}

func newServing(m metrics) *Serving { return &Serving{metrics: m} }

// Run keeps the certificate current until ctx ends. It logs failures and tries
// again. After a failure the current certificate stays in use.
func (s *Serving) Run(ctx context.Context) { s.run(ctx) }

// Get is a tls.Config's GetCertificate. An existing connection keeps the certificate with which
// it was established.
func (s *Serving) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, errNone
}

// Ready returns nil while API servers can use the certificate. Otherwise its
// error says why not: there is no certificate, it is not valid now, or Run has
// not seen its CA in the caBundle of the webhook configuration. It does not block.
func (s *Serving) Ready() error {
	if err := s.valid(time.Now()); err != nil {
		return err
	}
	return s.trusted()
}

// Expiry returns when the certificate expires, or zero while there is no certificate.
func (s *Serving) Expiry() time.Time {
	if c := s.current.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

var errNone = errors.New("there is no certificate yet")

// set makes c the served certificate. Its Leaf must be set.
func (s *Serving) set(c *tls.Certificate) {
	if old := s.current.Swap(c); old != nil && !old.Leaf.Equal(c.Leaf) {
		s.metrics.renewals.Inc()
	}
	s.metrics.expiry.Set(float64(c.Leaf.NotAfter.Unix()))
}

// valid returns why the certificate cannot be used at this time, or nil.
func (s *Serving) valid(now time.Time) error {
	c := s.current.Load()
	switch {
	case c == nil:
		return errNone
	case now.After(c.Leaf.NotAfter):
		return fmt.Errorf("the certificate expired at %s", c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.Leaf.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s: is a clock wrong?", c.Leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}
