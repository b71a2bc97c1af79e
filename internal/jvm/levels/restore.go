package levels

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/jvm/trigger"
)

// Restore returns the JVMs of a source to their own log configuration if an `ullage run` was killed
// and left them changed. Restore owns the levels while it runs, and fails if another process owns
// them. If there is nothing to restore, it fails with [control.ErrNoOwner].
func Restore(ctx context.Context, cfg outputs.Config) ([]plan.Change, error) {
	all, reg := DefaultConfig(), prometheus.NewRegistry()
	all.Config = cfg
	l := New(all, trigger.New(trigger.DefaultConfig(), nil, reg), Outlets{}, reg, slog.New(slog.DiscardHandler))
	l.notes.unknown = true // keeps the ended raise of an annotation, so that no later process begins it again
	l.memory.load(time.Now())
	if s := l.plan.State; len(s.JVMs)+len(s.Adopted) == 0 {
		return nil, control.ErrNoOwner
	}
	l.owner.Await(ctx)
	if err := l.owner.Unlocked(); err != nil {
		return nil, err
	}
	defer l.owner.Release()
	l.memory.loaded = false // load again: the process that held the lock may have saved once more
	l.memory.load(time.Now())
	j := newJob(control.Request{Verb: control.VerbReset})
	l.jobs.pending = append(l.jobs.pending, j)
	l.plan.State.EndAll(plan.WhyReset, "", time.Now())
	err := l.drain(ctx)
	if err == nil {
		err = errors.Join(j.errs...)
	}
	return j.changes, err
}
