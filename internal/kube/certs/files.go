package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/internal/kube/names"
)

const (
	// filesInterval is how often the files are read. A kubelet swaps the
	// directory of a Secret volume about a minute after the Secret changed.
	filesInterval = 3 * time.Second
)

// files loads the certificate from two files whenever they change. A pair that
// does not match is ignored: one file may have been replaced before the other.
type files struct {
	cert, key string
	serving   *Serving
	log       *slog.Logger
	now       func() time.Time

	seen   [2][]byte // the last contents, usable or not
	failed string    // the last error in the log; empty: the last look succeeded
}

// run reads the files until ctx ends.
func (f *files) run(ctx context.Context) {
	tick := time.NewTicker(filesInterval)
	defer tick.Stop()
	for {
		f.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look loads the files if they have changed. It logs each error once.
func (f *files) look() {
	err := f.take()
	if err == nil {
		f.failed = ""
		return
	}
	if text := err.Error(); text != f.failed {
		f.failed = text
		// messages.md#the-injector: The current certificate stays in use until the files hold a
		// matching pair.
		f.log.Warn("certificate files are unusable", "hint", "the current certificate stays in use; the files are read again", "error", printable.Text(text, names.MaxText))
	}
}

// take compares contents rather than times and sizes: the files are small, and
// two changes may share a timestamp.
func (f *files) take() error {
	cert, err := kubeapi.ReadFile(f.cert)
	if err != nil {
		return fmt.Errorf("read --tls-cert: %w", err)
	}
	key, err := kubeapi.ReadFile(f.key)
	if err != nil {
		return fmt.Errorf("read --tls-key: %w", err)
	}
	if f.failed == "" && bytes.Equal(cert, f.seen[0]) && bytes.Equal(key, f.seen[1]) {
		return nil
	}
	f.seen = [2][]byte{cert, key}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("pair %s and %s: %w", f.cert, f.key, err)
	}
	now := f.now()
	if now.After(pair.Leaf.NotAfter) && f.serving.valid(now) == nil {
		return fmt.Errorf("the certificate in %s expired at %s", f.cert, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	f.serving.set(&pair)
	f.log.Info("certificate taken from files", "file", f.cert, "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
	return nil
}
