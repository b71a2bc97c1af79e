package sidecar

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/jvm/census"
	"github.com/ullage/ullage/internal/line/mark"
)

// marking connects the sources of events to the journal of marks.
type marking struct {
	journal *journal
	started time.Time
	opened  atomic.Bool   // the source and its journal are ours
	settled chan struct{} // closed when the ends of JVMs are marked
}

// lastLook bounds how long a stopping sidecar waits for settled.
const lastLook = 100 * time.Millisecond

func newMarking(source string, log *slog.Logger) *marking {
	return &marking{journal: newJournal(source, log), started: time.Now(), settled: make(chan struct{})}
}

// ofSource returns the function that takes the marks of the source.
func (m *marking) ofSource(jvms *census.Census) func(mark.Mark) {
	return func(a mark.Mark) {
		if a.Kind == mark.CrashReport {
			jvms.Crashed(a.Get("stream"))
		}
		m.journal.Add(a)
	}
}

// begins returns the function that adds the first mark once the source is ours.
func (m *marking) begins(of build.Info) func(statedir.Former) {
	return func(former statedir.Former) {
		m.opened.Store(true)
		m.journal.Add(mark.New(mark.SidecarStarted, "version", of.Version, "after", string(former)))
	}
}

// before returns a context that ends after ctx. When ctx ends, a goroutine waits until released is
// closed and the last ends of JVMs are marked. It then marks the end of the sidecar, waits until
// looked is closed, and ends the returned context. So the drain that follows ships everything that
// adopted JVMs have written, these marks, and the events of the rings. The caller calls stop when it
// no longer needs the context.
func (m *marking) before(ctx context.Context, released, looked <-chan struct{}) (until context.Context, stop func()) {
	until, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unregister := context.AfterFunc(ctx, func() {
		<-released
		if m.opened.Load() {
			select {
			case <-m.settled:
			case <-time.After(lastLook):
			}
			m.journal.Close(mark.New(mark.SidecarStopped, "uptime", time.Since(m.started).Round(time.Millisecond).String()))
		}
		<-looked
		cancel()
	})
	return until, func() { unregister(); cancel() }
}
