package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// shown is the certificate that is served with. Connections that exist keep
// the one that they were made with.
type shown struct {
	current atomic.Pointer[tls.Certificate] // its Leaf is set
	metrics metrics
}

func newShown(m metrics) *shown { return &shown{metrics: m} }

// set serves with c from now on. Its Leaf must be set.
func (s *shown) set(c *tls.Certificate) {
	if old := s.current.Swap(c); old != nil && !old.Leaf.Equal(c.Leaf) {
		s.metrics.renewals.Inc()
	}
	s.metrics.expiry.Set(float64(c.Leaf.NotAfter.Unix()))
}

// get is a tls.Config's GetCertificate.
func (s *shown) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// check returns why the certificate cannot be used at the moment.
func (s *shown) check(now time.Time) error {
	c := s.current.Load()
	switch {
	case c == nil:
		return errors.New("there is no certificate yet")
	case now.After(c.Leaf.NotAfter):
		return fmt.Errorf("the certificate has expired at %s", c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.Leaf.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s: is a clock wrong?", c.Leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

func (s *shown) expiry() time.Time {
	if c := s.current.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}
