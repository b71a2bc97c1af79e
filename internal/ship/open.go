package ship

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/tail"
)

// ownedPoll is the time between two attempts to claim a source that another
// sidecar owns. A JVM that writes 50 MB/s fills a tmpfs of 64 MiB in little more
// than a second.
const ownedPoll = 100 * time.Millisecond

// waitForSource opens the source directory, and waits for it without a limit. It fails at
// once if the path is a file, which will not become a directory.
func (r *reader) waitForSource(ctx context.Context) error {
	for err := r.open(); err != nil; err = r.open() {
		if errors.Is(err, tail.ErrNoDirectory) {
			return fmt.Errorf("%w: name the directory of the log files in --source", err)
		}
		pause := pollInterval
		if errors.Is(err, statedir.ErrOwned) {
			pause = ownedPoll
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return r.budget.check(r.src.Relief.Usage())
}

// open tries once to open the source directory. It logs the first failure of each of two
// kinds: another sidecar owns the source, or the directory cannot be opened.
func (r *reader) open() error {
	err := r.src.Open()
	r.view.setSource(err)
	if errors.Is(err, statedir.ErrOwned) {
		if !r.waits.owned {
			r.waits.owned = true
			// messages.md#the-source: Another sidecar ships this source; `error` names its process
			// if it is in the same PID namespace. This sidecar is not ready, reads nothing and
			// changes no log level. It takes over when the other has ended, or has given no sign of
			// life for 10 s and is not visibly stopped, or after a minute if the other process is
			// not visibly a sidecar. End one of them.
			r.log.Warn("waiting for the owner of the source", "source", r.cfg.Tail.Source, "error", err,
				"hint", "only one sidecar can ship a source: this one starts when the other one ends")
		}
		return err
	}
	r.view.myTurn()
	if err == nil {
		r.opened()
		return nil
	}
	if !r.waits.missing && !errors.Is(err, tail.ErrNoDirectory) {
		r.waits.missing = true
		level := slog.LevelError
		if errors.Is(err, fs.ErrNotExist) {
			level = slog.LevelWarn
		}
		// messages.md#the-source: The directory is missing or cannot be opened. ullage retries once
		// a second.
		r.log.Log(context.Background(), level, "waiting for the source directory", "source", r.cfg.Tail.Source, "error", err)
	}
	return err
}

// opened prepares to read from a directory that was just opened.
func (r *reader) opened() {
	if r.waits.missing || r.waits.owned {
		r.waits = waits{}
		// messages.md#the-source: The source directory, for which ullage waited, is there now, or
		// its previous owner has ended.
		r.log.Info("source directory opened", "source", r.cfg.Tail.Source)
	}
	r.link.news.setDir(r.src.State())
	r.budget.adapt(r.budget.of(r.src.Relief.Usage()), r.src.Relief.Weigh().Spool)
	if r.to.Opened != nil {
		r.to.Opened(r.src.Dir(), r.src.State())
	}
}
