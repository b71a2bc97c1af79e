package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"
)

const (
	// filesInterval is how often the files are looked at. A kubelet swaps the
	// directory of a Secret volume about a minute after the Secret changed.
	filesInterval = 3 * time.Second

	// maxFile bounds a certificate, key or token file.
	maxFile = 1 << 20
)

// files shows the certificate that is in two files, whenever it changes. A pair
// that is no good changes nothing: it may be half of a change, of which the
// other half comes soon.
type files struct {
	cert, key string
	shown     *shown
	log       *slog.Logger
	now       func() time.Time

	seen [2][]byte // what was last looked at, good or not
	told string    // the last error in the log; empty: all was well
}

// run looks at the files until ctx ends.
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

// look takes the files if they have changed. An error is told once.
func (f *files) look() {
	err := f.take()
	if err == nil {
		f.told = ""
		return
	}
	if text := err.Error(); text != f.told {
		f.told = text
		f.log.Warn("take the certificate from its files: the earlier one is kept, if there is one", "err", oneLine(text, maxText))
	}
}

// take compares contents, and not times and sizes: they are small, and a change
// within the resolution of a timestamp is one as well.
func (f *files) take() error {
	cert, err := readFile(f.cert)
	if err != nil {
		return fmt.Errorf("read --tls-cert: %w", err)
	}
	key, err := readFile(f.key)
	if err != nil {
		return fmt.Errorf("read --tls-key: %w", err)
	}
	if f.told == "" && bytes.Equal(cert, f.seen[0]) && bytes.Equal(key, f.seen[1]) {
		return nil
	}
	f.seen = [2][]byte{cert, key}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("pair %s and %s: %w", f.cert, f.key, err)
	}
	now := f.now()
	if now.After(pair.Leaf.NotAfter) && f.shown.check(now) == nil {
		return fmt.Errorf("the certificate in %s has expired at %s", f.cert, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	f.shown.set(&pair)
	f.log.Info("certificate taken from its files", "file", f.cert, "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
	return nil
}

// readFile reads a regular file of a bounded size, and never waits for a
// writer of anything else.
func readFile(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(name + " is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return data, nil
}
