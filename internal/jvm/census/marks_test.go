package census

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
	"github.com/ullage/ullage/test/lab/marked"
)

// census returns a Census and the marks that it writes.
func (r *rig) census() (*Census, *marked.Marks) {
	m := &marked.Marks{}
	return New(r.cfg, Outlets{Mark: m.Add}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))), m
}

func TestStartsAndEndsOfJVMsAreMarkedOnce(t *testing.T) {
	r := newRig(t)
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, filepath.Join(r.cfg.Source, "gc-%p.log"), filepath.Join(r.cfg.Source, "safepoint.log"))
	fakejvm.Start(t, r.cfg.Attach.Tmp, 8, "/other/gc.log") // a JVM that logs into another source
	jvm := func(kind string) string {
		return kind + ` stream=gc-7.log,safepoint.log pid=7 uptime=6.076s version=17.0.15\+6 collector=G1 main=shop.Main`
	}
	census, m := r.census()
	look := func() {
		t.Helper()
		census.look(t.Context())
	}
	look()
	m.Gives(t, jvm("jvm-seen"))
	census.began = time.Now().Add(-time.Minute)
	look()
	m.Gives(t)
	j.Kill()
	look()
	m.Gives(t, "jvm-ended stream=gc-7.log,safepoint.log pid=7 how=killed why=.*")
	look()
	m.Gives(t)
	must(t, os.Remove(j.Socket()))
	look()
	if len(census.members) != 1 {
		t.Errorf("%d JVMs are still remembered, want 1", len(census.members))
	}
	j.Start()
	look()
	m.Gives(t, jvm("jvm-started"))
	must(t, os.Remove(j.Socket()))
	look()
	m.Gives(t, "jvm-ended .* how=exited")
	j.Kill()
	j.Start()
	look()
	m.Gives(t, jvm("jvm-started"))
	j.Restart()
	look()
	m.Gives(t, "jvm-ended stream=gc-7.log,safepoint.log pid=7", jvm("jvm-started"))
}

// A pod's sidecar is stopped right after its JVM.
func TestAJVMThatEndsWithThePodIsMarked(t *testing.T) {
	r := newRig(t)
	j := r.jvm(7)
	census, m := r.census()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { census.Run(ctx) })
	lab.Eventually(t, lab.Patience, "the JVM is seen", func() bool { return j.Count() == 2 })
	j.Kill()
	cancel()
	running.Wait()
	m.Gives(t, "jvm-seen .*", "jvm-ended .*")
}

func TestAJVMThatCrashedIsMarkedAsCrashed(t *testing.T) {
	for name, c := range map[string]struct {
		crash func(t *testing.T, r *rig, census *Census)
		want  string
	}{
		"its report was read": {func(_ *testing.T, _ *rig, census *Census) { census.Crashed("hs_err_pid7.log") }, "crashed"},
		"its report is in the source": {func(t *testing.T, r *rig, _ *Census) {
			report := filepath.Join(r.cfg.Source, "hs_err_pid7.log")
			must(t, os.WriteFile(report, nil, 0o600))
			now := time.Now() // the kernel's own time stamps of files lag by a few milliseconds
			must(t, os.Chtimes(report, now, now))
		}, "crashed"},
		"a report of another JVM": {func(_ *testing.T, _ *rig, census *Census) { census.Crashed("hs_err_pid77.log") }, "killed why=.*"},
		"no name of a report": {func(_ *testing.T, _ *rig, census *Census) {
			census.Crashed("hs_err7.log")
			census.Crashed("hs_err_pid.log")
		}, "killed why=.*"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			j := r.jvm(7)
			census, m := r.census()
			census.Crashed("hs_err_pid7.log") // a report of an earlier JVM
			census.look(t.Context())
			m.Take()
			c.crash(t, r, census)
			j.Kill()
			census.look(t.Context())
			m.Gives(t, "jvm-ended stream=gc.log pid=7 how="+c.want)
		})
	}
	census, _ := newRig(t).census()
	for range 10 * maxCrashes {
		census.Crashed("hs_err_pid1.log")
	}
	if n := len(census.crashes); n != maxCrashes {
		t.Errorf("%d crashes are remembered, want maxCrashes", n)
	}
}

// If a JVM does not describe itself, its mark contains only what is known without a description.
func TestAJVMWithoutADescription(t *testing.T) {
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	j := r.jvm(7)
	j.When(func(cmd string) fakejvm.Reaction {
		if strings.HasPrefix(cmd, "VM.uptime") {
			return fakejvm.Mute
		}
		return fakejvm.Obey
	})
	census, m := r.census()
	census.look(t.Context())
	m.Gives(t, "jvm-seen stream=gc.log pid=7")
}

// The lines that show a full heap are written right before the JVM ends. The mark of the end names
// the cause although they are read after the end was noticed. A reader that never catches up delays
// the mark, but does not prevent it.
func TestTheEndIsMarkedOnceTheLastLinesAreRead(t *testing.T) {
	full := insight.Heap{Used: 31 << 20, Capacity: 32 << 20, Max: 32 << 20, Whole: true}
	for name, c := range map[string]struct {
		reads bool
		want  string
	}{
		"the reader catches up":        {true, `jvm-ended stream=gc.log pid=7 how=exited cause=heap why=".*the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"`},
		"the reader does not catch up": {false, "jvm-ended stream=gc.log pid=7 how=exited"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			j := r.jvm(7)
			j.Options = "-Xmx32m -XX:+ExitOnOutOfMemoryError"
			census, m := r.census()
			var heap insight.Heap
			census.Heap = func(string, time.Time) insight.Heap { return heap }
			ctx, cancel := context.WithCancel(t.Context())
			waits := 0
			census.CatchUp = func(until context.Context) {
				if waits++; c.reads {
					heap = full
					return
				}
				cancel() // tells the sidecar to stop, so the wait ends soon
				<-until.Done()
			}
			census.look(ctx)
			m.Gives(t, "jvm-seen .*")
			if waits != 0 {
				t.Errorf("%d waits for the reader before a JVM has ended, want 0", waits)
			}
			j.Kill()
			must(t, os.Remove(j.Socket()))
			census.look(ctx)
			m.Gives(t, c.want)
			if waits != 1 {
				t.Errorf("%d waits for the reader, want 1", waits)
			}
		})
	}
}
