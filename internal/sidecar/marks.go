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

// marking ties what reports events to the journal of marks.
type marking struct {
	journal *journal
	started time.Time
	opened  atomic.Bool   // the source is ours, and its journal
	settled chan struct{} // closed when the JVMs that have ended are marked
}

// lastLook bounds the wait for these marks at the end.
const lastLook = 100 * time.Millisecond

func newMarking(source string, log *slog.Logger) *marking {
	return &marking{journal: newJournal(source, log), started: time.Now(), settled: make(chan struct{})}
}

// ofSource returns what takes the marks of the source.
func (m *marking) ofSource(jvms *census.Census) func(mark.Mark) {
	return func(a mark.Mark) {
		if a.Kind == mark.CrashReport {
			jvms.Crashed(a.Get("stream"))
		}
		m.journal.Add(a)
	}
}

// begins returns what marks that the source is ours.
func (m *marking) begins(of build.Info) func(statedir.Former) {
	return func(former statedir.Former) {
		m.opened.Store(true)
		m.journal.Add(mark.New(mark.SidecarStarted, "version", of.Version, "after", string(former)))
	}
}

// before returns a context that ends when ctx does, once released is closed, the last ends of JVMs
// and that of the sidecar are marked, and looked is closed: the drain that follows then ships all
// that adopted JVMs have written, these marks, and what rings have had. The caller calls stop when it needs the context no more.
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
