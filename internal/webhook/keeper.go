package webhook

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
)

const (
	// lookInterval is how often the Secret and the configuration are looked at.
	lookInterval = 30 * time.Second

	// settleTime is how long a CA has been in the caBundle before it signs what
	// is served: API servers learn of a change within a second or so.
	settleTime = time.Minute

	// maxConflicts bounds how often a look begins again because somebody else
	// was faster.
	maxConflicts = 10
)

// keeper keeps self-made certificates in a Secret and their CA in a webhook
// configuration. It is for one goroutine, but for trusted.
type keeper struct {
	cfg   Config
	api   *client
	shown *shown
	log   *slog.Logger
	now   func() time.Time

	held    material  // what is shown; leaf nil: nothing
	newest  []byte    // the CA that was last seen first in the caBundle
	since   time.Time // ... since when
	garbled string    // what was last told about the Secret's content
	told    string    // the last error in the log, without digits; empty: all was well

	// distrust is why API servers may not trust what is shown; nil: they can.
	distrust atomic.Pointer[error]
}

func newKeeper(cfg Config, api *client, shown *shown, log *slog.Logger) *keeper {
	k := &keeper{cfg: cfg, api: api, shown: shown, log: log, now: time.Now}
	k.setTrusted(errors.New("the webhook configuration has not been seen yet"))
	return k
}

func (k *keeper) setTrusted(err error) { k.distrust.Store(&err) }

// trusted returns why API servers may not trust the certificate, or nil.
func (k *keeper) trusted() error { return *k.distrust.Load() }

// run looks until ctx ends. After an error it looks again sooner at first.
func (k *keeper) run(ctx context.Context) {
	defer k.api.http.CloseIdleConnections()
	retry := time.Second
	for {
		err := k.look(ctx)
		if ctx.Err() != nil {
			return
		}
		k.tell(err)
		wait := lookInterval
		if err == nil {
			retry = time.Second
		} else {
			wait, retry = retry, min(2*retry, lookInterval)
		}
		// Replicas that were started at the same moment drift apart.
		timer := time.NewTimer(wait - rand.N(wait/5))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// tell logs an error once, and its end.
func (k *keeper) tell(err error) {
	switch {
	case err != nil:
		text := oneLine(err.Error(), 2*maxText)
		if kind := withoutDigits(text); kind != k.told {
			k.told = kind
			k.log.Warn("look after the certificate: tried again, the earlier one is kept if there is one", "err", text)
		}
	case k.told != "":
		k.told = ""
		k.log.Info("the certificate is looked after again")
	}
}

// withoutDigits makes the same of errors that differ in a port or a version.
func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// look does once all that is to be done. What is read first is written last:
// a caBundle that was read before the Secret, and has not changed when it is
// written, can't be that of a later Secret.
func (k *keeper) look(ctx context.Context) error {
	var conflict error
	for range maxConflicts {
		conf, confErr := k.api.readConfiguration(ctx, k.cfg.Configuration)
		m, err := k.agree(ctx)
		if errors.Is(err, errConflict) {
			conflict = err
			continue
		}
		if confErr != nil {
			k.takeBlind(m, confErr)
			return errors.Join(err, confErr)
		}
		if m.leaf == nil {
			// The caBundle may be ahead of what is shown here, so it is not written.
			k.take(k.held, conf, err)
			return err
		}
		failure := k.publish(ctx, conf, m)
		if errors.Is(failure, errConflict) {
			conflict = failure
			continue
		}
		k.take(m, conf, failure)
		return errors.Join(err, failure)
	}
	return fmt.Errorf("others were faster %d times in a row (is a second injector using the same names?): %w", maxConflicts, conflict)
}

// take shows m, which may be empty, if API servers trust it: its CA is
// published, or was there before that failed.
func (k *keeper) take(m material, conf configuration, failure error) {
	if m.leaf == nil {
		return
	}
	trusted := func(c *tls.Certificate) bool {
		return failure == nil || conf.trusts(k.ours(conf), c.Leaf, k.now())
	}
	if trusted(m.leaf) || !k.usable() {
		k.show(m)
	}
	if trusted(k.held.leaf) {
		k.setTrusted(nil)
	} else {
		k.setTrusted(fmt.Errorf("the caBundle of the webhook configuration does not hold our CA: %w", failure))
	}
}

// takeBlind shows m only if there is nothing else, since nobody knows whether
// API servers trust it. Of what is shown already, the last that was known holds.
func (k *keeper) takeBlind(m material, failure error) {
	if m.leaf == nil || k.usable() {
		return
	}
	k.show(m)
	k.setTrusted(fmt.Errorf("the caBundle of the webhook configuration is unknown: %w", failure))
}

// usable says that what is shown has not expired.
func (k *keeper) usable() bool {
	return k.held.leaf != nil && !k.now().After(k.held.leaf.Leaf.NotAfter)
}

func (k *keeper) show(m material) {
	if k.held.leaf == nil || !k.held.leaf.Leaf.Equal(m.leaf.Leaf) {
		k.log.Info("certificate taken from its Secret", "secret", k.cfg.Secret, "expires", m.leaf.Leaf.NotAfter)
	}
	k.held = m
	k.shown.set(m.leaf)
}

// agree returns what the Secret holds, after it was brought up to date if that
// was due. What is usable of it is returned also with an error. errConflict:
// somebody else was faster.
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
		k.log.Warn("the Secret's content is unusable and replaced", "secret", k.cfg.Secret, "err", oneLine(k.garbled, maxText))
	}
	if err := k.api.writeSecret(ctx, s, data); err != nil {
		return m, err
	}
	k.log.Info("certificates renewed", "secret", k.cfg.Secret, "what", strings.Join(why, ", "), "expires", next.leaf.Leaf.NotAfter, "cas", len(next.cas))
	return next, nil
}

// next returns what the Secret shall hold in place of m, and why. Nothing is to
// be done if there is no reason.
func (k *keeper) next(m material, now time.Time) (next material, why []string, err error) {
	caLife := caLives * k.cfg.Lifetime
	next = material{cas: slices.Clone(m.cas), key: m.key, leaf: m.leaf}
	if next.leaf == nil && k.held.leaf != nil && k.held.verify(k.held.leaf, k.cfg.dnsNames(), now) == nil {
		why = append(why, "what is served with put back")
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

// settled says that every API server trusts the first CA by now.
func (k *keeper) settled(m material, now time.Time) bool {
	return bytes.Equal(m.cas[0].Raw, k.newest) && now.Sub(k.since) >= settleTime
}

// ours returns the places of the webhooks whose caBundle is ours to keep.
func (k *keeper) ours(conf configuration) []int { return conf.ours(k.cfg.Service, k.cfg.Namespace) }

// publish brings the caBundle up to date. errConflict: somebody else was faster.
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
