package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/internal/kube/names"
)

const (
	// lookInterval is how often the Secret and the configuration are read.
	lookInterval = 30 * time.Second

	// settleTime is how long a CA must be in the caBundle before it signs a serving
	// certificate. API servers learn of a change within about a second.
	settleTime = time.Minute

	// maxConflicts bounds how often a look starts again after a conflict.
	maxConflicts = 10
)

// renewer creates and renews certificates. It shares them with other replicas in a Secret and
// publishes their CAs in the caBundle of a webhook configuration. Only the method trusted is
// safe for concurrent use.
type renewer struct {
	cfg     Config
	api     *client
	serving *Serving
	log     *slog.Logger
	now     func() time.Time

	held    material  // the serving certificate and its CAs; leaf nil: none yet
	newest  []byte    // the first CA in the caBundle, as last seen
	since   time.Time // when newest was first seen
	garbled string    // the last error in the log about the Secret's content
	failed  string    // the last error in the log, without digits; empty: the last look succeeded

	// distrust is why API servers may not trust held.leaf; nil: they trust it.
	distrust atomic.Pointer[error]
}

func newRenewer(cfg Config, api *client, serving *Serving, log *slog.Logger) *renewer {
	r := &renewer{cfg: cfg, api: api, serving: serving, log: log, now: time.Now}
	r.setTrusted(errors.New("the webhook configuration has not been seen yet"))
	return r
}

func (r *renewer) setTrusted(err error) { r.distrust.Store(&err) }

// trusted returns why API servers may not trust the certificate, or nil.
func (r *renewer) trusted() error { return *r.distrust.Load() }

// run calls look every lookInterval until ctx ends. After an error it calls look
// again after a second, then after longer and longer waits.
func (r *renewer) run(ctx context.Context) {
	defer r.api.Close()
	backoff := retry.Backoff{First: time.Second, Most: lookInterval}
	for {
		err := r.look(ctx)
		if ctx.Err() != nil {
			return
		}
		r.report(err)
		wait := lookInterval
		if err == nil {
			backoff.Reset()
		} else {
			wait = backoff.Next()
		}
		// The random part spreads replicas that started at the same moment.
		if retry.Sleep(ctx, wait-rand.N(wait/5)) != nil {
			return
		}
	}
}

// report logs an error unless it repeats the last one, and logs when maintenance works again.
func (r *renewer) report(err error) {
	switch {
	case err != nil:
		text := printable.Text(err.Error(), 2*names.MaxText)
		if kind := withoutDigits(text); kind != r.failed {
			r.failed = kind
			// messages.md#the-injector: The current certificate stays in use, and ullage retries.
			// `error` names the request to the API server; check the injector's role.
			r.log.Warn("certificate maintenance failed", "hint", "the current certificate stays in use; maintenance is tried again", "error", text)
		}
	case r.failed != "":
		r.failed = ""
		r.log.Info("certificate maintenance works again")
	}
}

// withoutDigits removes digits, so that errors that differ only in a port or a version become equal.
func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// look does everything that is due. It reads the configuration first and writes it last: if the
// caBundle has not changed in between, it cannot belong to a newer version of the Secret than
// look has read.
func (r *renewer) look(ctx context.Context) error {
	var conflict error
	for range maxConflicts {
		conf, confErr := r.api.readConfiguration(ctx, r.cfg.Configuration)
		m, err := r.agree(ctx)
		if errors.Is(err, kubeapi.ErrConflict) {
			conflict = err
			continue
		}
		if confErr != nil {
			r.takeBlind(m, confErr)
			return errors.Join(err, confErr)
		}
		if m.leaf == nil {
			// The caBundle may be newer than this replica's certificate, so it is
			// not written.
			r.take(r.held, conf, err)
			return err
		}
		failure := r.publish(ctx, conf, m)
		if errors.Is(failure, kubeapi.ErrConflict) {
			conflict = failure
			continue
		}
		r.take(m, conf, failure)
		return errors.Join(err, failure)
	}
	return fmt.Errorf("other clients wrote first %d times in a row (does a second injector use the same names?): %w", maxConflicts, conflict)
}

// take serves m if API servers trust it: either m's CA was published, or it was already in the
// caBundle when publishing failed. Without a usable certificate, take serves m in any case. m may be
// empty.
func (r *renewer) take(m material, conf configuration, failure error) {
	if m.leaf == nil {
		return
	}
	trusted := func(c *tls.Certificate) bool {
		return failure == nil || conf.trusts(r.ours(conf), c.Leaf, r.now())
	}
	if trusted(m.leaf) || !r.usable() {
		r.serve(m)
	}
	if trusted(r.held.leaf) {
		r.setTrusted(nil)
	} else {
		r.setTrusted(fmt.Errorf("the caBundle of the webhook configuration does not hold our CA: %w", failure))
	}
}

// takeBlind serves m only if there is no usable certificate, since the caBundle is unknown. For
// a certificate that is already served, the last known trust still applies.
func (r *renewer) takeBlind(m material, failure error) {
	if m.leaf == nil || r.usable() {
		return
	}
	r.serve(m)
	r.setTrusted(fmt.Errorf("the caBundle of the webhook configuration is unknown: %w", failure))
}

// usable reports whether there is a serving certificate that has not expired.
func (r *renewer) usable() bool {
	return r.held.leaf != nil && !r.now().After(r.held.leaf.Leaf.NotAfter)
}

func (r *renewer) serve(m material) {
	if r.held.leaf == nil || !r.held.leaf.Leaf.Equal(m.leaf.Leaf) {
		r.log.Info("certificate taken from Secret", "secret", r.cfg.Secret, "expires", m.leaf.Leaf.NotAfter)
	}
	r.held = m
	r.serving.set(m.leaf)
}

// agree updates the Secret if that is due and returns its content. With an error,
// it returns the usable parts of the content. kubeapi.ErrConflict means that
// another replica wrote first.
func (r *renewer) agree(ctx context.Context) (material, error) {
	s, err := r.api.readSecret(ctx, r.cfg.Namespace, r.cfg.Secret)
	if err != nil {
		return material{}, err
	}
	now := r.now()
	m, garbled := parseMaterial(s.data, r.cfg.dnsNames(), now)
	next, why, err := r.next(m, now)
	if err != nil || len(why) == 0 {
		r.garbled = ""
		return m, err
	}
	data, err := next.encode()
	if err != nil {
		return m, err
	}
	if garbled != nil && garbled.Error() != r.garbled {
		r.garbled = garbled.Error()
		// messages.md#the-injector: Another client changed the Secret of the certificates. ullage
		// writes a valid one.
		r.log.Warn("replacing an unusable Secret", "secret", r.cfg.Secret, "error", printable.Text(r.garbled, names.MaxText))
	}
	if err := r.api.writeSecret(ctx, s, data); err != nil {
		return m, err
	}
	r.log.Info("certificates renewed", "secret", r.cfg.Secret, "what", strings.Join(why, ", "), "expires", next.leaf.Leaf.NotAfter, "cas", len(next.cas))
	return next, nil
}

// next returns the content that replaces m in the Secret, and the reasons. If there is no
// reason, m is not replaced.
func (r *renewer) next(m material, now time.Time) (next material, why []string, err error) {
	caLife := caLives * r.cfg.Lifetime
	next = material{cas: slices.Clone(m.cas), key: m.key, leaf: m.leaf}
	if next.leaf == nil && r.held.leaf != nil && r.held.verify(r.held.leaf, r.cfg.dnsNames(), now) == nil {
		why = append(why, "the serving certificate restored")
		next.leaf = r.held.leaf
		next.trustFirst(r.held.cas)
	}
	if next.key == nil || spent(next.cas[0], caLife, 2, 3, now) {
		why = append(why, "a new CA")
		if err := next.rotate(now, caLife); err != nil {
			return m, nil, err
		}
	}
	issue := false
	switch {
	case next.leaf == nil:
		issue = true
	case !next.current():
		issue = r.settled(next, now)
	case spent(next.leaf.Leaf, r.cfg.Lifetime, 2, 3, now):
		issue = true
	case len(next.cas) > 1 && spent(next.leaf.Leaf, r.cfg.Lifetime, 1, 3, now):
		why = append(why, "old CAs retired")
		next.cas = next.cas[:1]
	}
	if issue {
		why = append(why, "a new serving certificate")
		if err := next.issue(r.cfg.dnsNames(), now, r.cfg.Lifetime); err != nil {
			return m, nil, err
		}
	}
	return next, why, nil
}

// settled reports whether every API server can be assumed to trust the first CA.
func (r *renewer) settled(m material, now time.Time) bool {
	return bytes.Equal(m.cas[0].Raw, r.newest) && now.Sub(r.since) >= settleTime
}

// ours returns the indexes of the webhooks whose caBundle we keep current.
func (r *renewer) ours(conf configuration) []int { return conf.ours(r.cfg.Service, r.cfg.Namespace) }

// publish updates the caBundle. kubeapi.ErrConflict means that another writer was first.
func (r *renewer) publish(ctx context.Context, conf configuration, m material) error {
	ours := r.ours(conf)
	if len(ours) == 0 {
		return fmt.Errorf("no webhook in the configuration %s is for the service %s in namespace %s", r.cfg.Configuration, r.cfg.Service, r.cfg.Namespace)
	}
	now := r.now()
	ops := conf.caBundlePatch(ours, m.bundle())
	if len(ops) > 0 {
		if err := r.api.patchConfiguration(ctx, conf, ops); err != nil {
			return err
		}
		r.log.Info("caBundle written", "configuration", r.cfg.Configuration, "webhooks", len(ops)-1, "cas", len(m.cas))
	}
	if newest := m.cas[0].Raw; len(ops) > 0 || !bytes.Equal(newest, r.newest) {
		r.newest, r.since = newest, now
	}
	return nil
}
