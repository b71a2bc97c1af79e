package ship

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/ullage/ullage/internal/statedir"
	"github.com/ullage/ullage/internal/tail"
)

// waitForSource opens the source directory, for as long as it takes. What is no
// directory will not become one.
func (r *reader) waitForSource(ctx context.Context) error {
	for err := r.open(); err != nil; err = r.open() {
		if errors.Is(err, tail.ErrNoDirectory) {
			return fmt.Errorf("%w: name the directory of the log files in --source", err)
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
	return r.budget.check(r.src.Relief.Usage())
}

// open tries to open the source directory, and logs the first failure.
func (r *reader) open() error {
	err := r.src.Open()
	r.view.setSource(err)
	if err == nil {
		r.view.myTurn()
		r.opened()
		return nil
	}
	var owned *statedir.OwnedError
	if errors.As(err, &owned) {
		if !r.waiting {
			r.waiting = true
			r.log.Warn("waiting for the owner of the source", "source", r.cfg.Tail.Source, "error", err,
				"hint", "one sidecar ships a source: this one starts when the other ends or no longer answers")
		}
		return err
	}
	r.view.myTurn()
	if !r.waiting && !errors.Is(err, tail.ErrNoDirectory) {
		r.waiting = true
		level := slog.LevelError
		if errors.Is(err, fs.ErrNotExist) {
			level = slog.LevelWarn
		}
		r.log.Log(context.Background(), level, "waiting for the source directory", "source", r.cfg.Tail.Source, "error", err)
	}
	return err
}

// opened prepares reading from a directory that was just opened.
func (r *reader) opened() {
	if r.waiting {
		r.waiting = false
		r.log.Info("source directory opened", "source", r.cfg.Tail.Source)
	}
	r.link.setDir(r.src.State())
	r.budget.adapt(r.budget.of(r.src.Relief.Usage()))
}
