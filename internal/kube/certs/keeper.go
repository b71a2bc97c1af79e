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

	// settleTime is how long a CA is in the caBundle before it signs a serving
	// certificate. API servers learn of a change within a second or so.
	settleTime = time.Minute

	// maxConflicts bounds how often a look starts again after a conflict.
	maxConflicts = 10
)

// keeper makes and renews certificates. It shares them with other replicas in a
// Secret, and publishes their CAs in the caBundle of a webhook configuration.
// Only trusted is safe for concurrent use.
type keeper struct {
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

func newKeeper(cfg Config, api *client, serving *Serving, log *slog.Logger) *keeper {
	k := &keeper{cfg: cfg, api: api, serving: serving, log: log, now: time.Now}
	k.setTrusted(errors.New("the webhook configuration has not been seen yet"))
	return k
}

func (k *keeper) setTrusted(err error) { k.distrust.Store(&err) }

// trusted returns why API servers may not trust the certificate, or nil.
func (k *keeper) trusted() error { return *k.distrust.Load() }

// run looks every lookInterval until ctx ends. After an error it looks again
// after a second, then after ever longer waits.
func (k *keeper) run(ctx context.Context) {
	defer k.api.Close()
	backoff := retry.Backoff{First: time.Second, Most: lookInterval}
	for {
		err := k.look(ctx)
		if ctx.Err() != nil {
			return
		}
		k.report(err)
		wait := lookInterval
		if err == nil {
			backoff.Reset()
		} else {
			wait = backoff.Next()
		}
		// Replicas that started at the same moment drift apart.
		if retry.Sleep(ctx, wait-rand.N(wait/5)) != nil {
			return
		}
	}
}

// report logs an error once, and the end of the errors.
func (k *keeper) report(err error) {
	switch {
	case err != nil:
		text := printable.Text(err.Error(), 2*names.MaxText)
		if kind := withoutDigits(text); kind != k.failed {
			k.failed = kind
			// messages.md#the-injector: The current certificate stays in use, and ullage retries.
			// `error` names the request to the API server; check the injector's role.
			k.log.Warn("certificate maintenance failed", "hint", "the current certificate stays in use; maintenance is tried again", "error", text)
		}
	case k.failed != "":
		k.failed = ""
		k.log.Info("certificate maintenance works again")
	}
}

// withoutDigits makes errors equal that differ in a port or a version only.
func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// look does all that is due. It reads the configuration first and writes it
// last: if the caBundle has not changed in between, it cannot belong to a later
// Secret than the one that look read.
func (k *keeper) look(ctx context.Context) error {
	var conflict error
	for range maxConflicts {
		conf, confErr := k.api.readConfiguration(ctx, k.cfg.Configuration)
		m, err := k.agree(ctx)
		if errors.Is(err, kubeapi.ErrConflict) {
			conflict = err
			continue
		}
		if confErr != nil {
			k.takeBlind(m, confErr)
			return errors.Join(err, confErr)
		}
		if m.leaf == nil {
			// The caBundle may be ahead of what this replica serves, so it is not
			// written.
			k.take(k.held, conf, err)
			return err
		}
		failure := k.publish(ctx, conf, m)
		if errors.Is(failure, kubeapi.ErrConflict) {
			conflict = failure
			continue
		}
		k.take(m, conf, failure)
		return errors.Join(err, failure)
	}
	return fmt.Errorf("others wrote first %d times in a row (does a second injector use the same names?): %w", maxConflicts, conflict)
}

// take serves m, which may be empty, if API servers trust it: m's CA was
// published, or it was in the caBundle before publishing failed.
func (k *keeper) take(m material, conf configuration, failure error) {
	if m.leaf == nil {
		return
	}
	trusted := func(c *tls.Certificate) bool {
		return failure == nil || conf.trusts(k.ours(conf), c.Leaf, k.now())
	}
	if trusted(m.leaf) || !k.usable() {
		k.serve(m)
	}
	if trusted(k.held.leaf) {
		k.setTrusted(nil)
	} else {
		k.setTrusted(fmt.Errorf("the caBundle of the webhook configuration does not hold our CA: %w", failure))
	}
}

// takeBlind serves m only if there is no usable certificate, since the caBundle
// is unknown. For a certificate that is served already, the last known state
// stays.
func (k *keeper) takeBlind(m material, failure error) {
	if m.leaf == nil || k.usable() {
		return
	}
	k.serve(m)
	k.setTrusted(fmt.Errorf("the caBundle of the webhook configuration is unknown: %w", failure))
}

// usable reports whether there is a serving certificate that has not expired.
func (k *keeper) usable() bool {
	return k.held.leaf != nil && !k.now().After(k.held.leaf.Leaf.NotAfter)
}

func (k *keeper) serve(m material) {
	if k.held.leaf == nil || !k.held.leaf.Leaf.Equal(m.leaf.Leaf) {
		k.log.Info("certificate taken from Secret", "secret", k.cfg.Secret, "expires", m.leaf.Leaf.NotAfter)
	}
	k.held = m
	k.serving.set(m.leaf)
}

// agree brings the Secret up to date if that is due, and returns its content. It
// returns what is usable of the content along with an error. kubeapi.ErrConflict:
// another replica wrote first.
func (k *keeper) agree(ctx context.Context) (material, error) {
	s, err := k.api.readSecret(ctx, k.cfg.Namespace, k.cfg.Secret)
	if err != nil {
		return material{}, err
	}
	now := k.now()
	m, garbled := parseMaterial(s.data, k.cfg.dnsNames(), now)
	next, why, err := k.next(m, now)
	if err != nil || len(why) == 0 {
		k.garbled = ""
		return m, err
	}
	data, err := next.encode()
	if err != nil {
		return m, err
	}
	if garbled != nil && garbled.Error() != k.garbled {
		k.garbled = garbled.Error()
		// messages.md#the-injector: Another client changed the Secret of the certificates. ullage
		// writes a sound one.
		k.log.Warn("replacing an unusable Secret", "secret", k.cfg.Secret, "error", printable.Text(k.garbled, names.MaxText))
	}
	if err := k.api.writeSecret(ctx, s, data); err != nil {
		return m, err
	}
	k.log.Info("certificates renewed", "secret", k.cfg.Secret, "what", strings.Join(why, ", "), "expires", next.leaf.Leaf.NotAfter, "cas", len(next.cas))
	return next, nil
}

// next returns the content that replaces m in the Secret, and why. Without a
// reason m stays.
func (k *keeper) next(m material, now time.Time) (next material, why []string, err error) {
	caLife := caLives * k.cfg.Lifetime
	next = material{cas: slices.Clone(m.cas), key: m.key, leaf: m.leaf}
	if next.leaf == nil && k.held.leaf != nil && k.held.verify(k.held.leaf, k.cfg.dnsNames(), now) == nil {
		why = append(why, "the serving certificate put back")
		next.leaf = k.held.leaf
		next.trustFirst(k.held.cas)
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
		issue = k.settled(next, now)
	case spent(next.leaf.Leaf, k.cfg.Lifetime, 2, 3, now):
		issue = true
	case len(next.cas) > 1 && spent(next.leaf.Leaf, k.cfg.Lifetime, 1, 3, now):
		why = append(why, "old CAs retired")
		next.cas = next.cas[:1]
	}
	if issue {
		why = append(why, "a new serving certificate")
		if err := next.issue(k.cfg.dnsNames(), now, k.cfg.Lifetime); err != nil {
			return m, nil, err
		}
	}
	return next, why, nil
}

// settled reports whether every API server trusts the first CA by now.
func (k *keeper) settled(m material, now time.Time) bool {
	return bytes.Equal(m.cas[0].Raw, k.newest) && now.Sub(k.since) >= settleTime
}

// ours returns the indexes of the webhooks whose caBundle is ours to keep.
func (k *keeper) ours(conf configuration) []int { return conf.ours(k.cfg.Service, k.cfg.Namespace) }

// publish brings the caBundle up to date. kubeapi.ErrConflict: another writer was first.
func (k *keeper) publish(ctx context.Context, conf configuration, m material) error {
	ours := k.ours(conf)
	if len(ours) == 0 {
		return fmt.Errorf("no webhook in the configuration %s is for the service %s in namespace %s", k.cfg.Configuration, k.cfg.Service, k.cfg.Namespace)
	}
	now := k.now()
	ops := conf.caBundlePatch(ours, m.bundle())
	if len(ops) > 0 {
		if err := k.api.patchConfiguration(ctx, conf, ops); err != nil {
			return err
		}
		k.log.Info("caBundle written", "configuration", k.cfg.Configuration, "webhooks", len(ops)-1, "cas", len(m.cas))
	}
	if newest := m.cas[0].Raw; len(ops) > 0 || !bytes.Equal(newest, k.newest) {
		k.newest, k.since = newest, now
	}
	return nil
}
