package levels

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/statedir"
)

// rig is a pod: a source, the /tmp of its JVMs, and its annotations.
type rig struct {
	t       testing.TB
	cfg     Config
	written int // how often the kubelet wrote the annotations
	last    *process
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, cfg: DefaultConfig()}
	r.cfg.Attach = attach.Config{Mode: attach.SharedTmp, Tmp: t.TempDir(), Timeout: 400 * time.Millisecond}
	r.cfg.Source, r.cfg.Match = t.TempDir(), "*.log*"
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.cfg.Known = knownNames
	return r
}

// jvm starts a JVM that logs into the source.
func (r *rig) jvm(pid int) *fakeJVM {
	r.t.Helper()
	return startJVM(r.t, r.cfg.Attach.Tmp, pid, filepath.Join(r.cfg.Source, "gc.log"))
}

// annotate writes the annotations as the kubelet does: into a new directory,
// which a link is swapped to. It takes names without the prefix, and values.
func (r *rig) annotate(pairs ...string) {
	r.t.Helper()
	annotations := map[string]string{"kubernetes.io/config.source": "api"}
	for i := 0; i < len(pairs); i += 2 {
		annotations[podmeta.Prefix+pairs[i]] = pairs[i+1]
	}
	dir := filepath.Dir(r.cfg.Annotations)
	r.written++
	data := fmt.Sprintf("..2026_11_21_08_00_00.%d", r.written)
	must(r.t, os.Mkdir(filepath.Join(dir, data), 0o755))
	must(r.t, os.WriteFile(filepath.Join(dir, data, "annotations"), []byte(kubeletFile(annotations)), 0o644))
	must(r.t, os.Symlink(data, filepath.Join(dir, "..data_tmp")))
	must(r.t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if r.written == 1 {
		must(r.t, os.Symlink("..data/annotations", r.cfg.Annotations))
	} else {
		must(r.t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_11_21_08_00_00.%d", r.written-1))))
	}
}

// state is the path of a file of the state directory.
func (r *rig) state(name string) string { return filepath.Join(r.cfg.Source, statedir.Name, name) }

// process is a Loop as one process has it. It stands for a sidecar that is
// driven by hand with step and can be killed, until run is called.
type process struct {
	*Loop
	t   testing.TB
	reg *prometheus.Registry
	log *logged
}

// process returns a new one. The one before it, if there was one, is killed.
func (r *rig) process() *process {
	r.t.Helper()
	if r.last != nil {
		r.last.kill()
	}
	p := &process{t: r.t, reg: prometheus.NewRegistry(), log: &logged{}}
	p.Loop = New(r.cfg, p.reg, slog.New(slog.NewTextHandler(p.log, nil)))
	p.watch.caughtUp = true // as if nothing had been raised
	r.t.Cleanup(p.kill)
	r.last = p
	return p
}

// command is a process that runs one command.
func (r *rig) command() *Command { return NewCommand(r.cfg) }

// during has the process run while f does something, as a command that asks it.
func (p *process) during(f func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.tick(ctx)
	var turning sync.WaitGroup
	turning.Go(func() { p.turn(ctx, func() bool { return false }) })
	f()
	cancel()
	turning.Wait()
	p.fleet.crew.Wait()
}

// set has a command raise, which asks the process, and reset has one end that.
func (p *process) set(sel string, lasts time.Duration) (changes []Change, until time.Time, err error) {
	p.t.Helper()
	c := NewCommand(p.cfg)
	p.during(func() { changes, until, err = c.Set(p.t.Context(), selected(p.t, sel), lasts) })
	if !c.Kept() {
		p.t.Error("the command does not see that a Loop keeps the levels")
	}
	return changes, until, err
}

func (p *process) reset() (changes []Change, err error) {
	p.t.Helper()
	p.during(func() { changes, err = NewCommand(p.cfg).Reset(p.t.Context()) })
	return changes, err
}

// step is one tick of Run, in which an update is due.
func (p *process) step() {
	p.t.Helper()
	p.next = time.Time{}
	p.tick(context.Background())
}

// due has the next attempt at every JVM that failed come after a while from now.
func (p *process) due(wait time.Duration) {
	for id, a := range p.fleet.attempts {
		a.next = time.Now().Add(wait)
		p.fleet.attempts[id] = a
	}
}

// kill is what the kernel does of it when the process is killed: nobody listens
// any more, and the name of the socket stays.
func (p *process) kill() {
	p.keeper.stop()
	p.store.unlock()
}

// run starts Run. Stop cancels it and returns what it returned.
func (p *process) run() (stop func() error) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	p.t.Cleanup(func() { _ = stop() })
	return stop
}

// patience is how long is waited for what takes a second or two at most: the
// machine may be busy.
const patience = 10 * time.Second

// becomes waits until a condition holds, and reports whether it came to.
func becomes(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// within waits until a condition holds.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !becomes(limit, holds) {
		t.Fatalf("after %s it does not hold yet: %s", limit, what)
	}
}

// soon waits until the JVM logs so.
func soon(t testing.TB, limit time.Duration, j *fakeJVM, selection string) {
	t.Helper()
	if !becomes(limit, func() bool { return j.selection() == selection }) {
		t.Fatalf("after %s the JVM logs %s, want %s\nit was told %q", limit, j.selection(), selection, j.sent(0))
	}
}

// logs checks what the JVM logs now.
func logs(t testing.TB, j *fakeJVM, selection string) {
	t.Helper()
	if got := j.selection(); got != selection {
		t.Errorf("the JVM logs %s, want %s\nit was told %q", got, selection, j.sent(0))
	}
}

// started waits until a running Loop has looked at everything once.
func (p *process) started() {
	p.t.Helper()
	within(p.t, patience, "a first update", func() bool { return !p.Status().Reconciled.IsZero() })
}

// polls waits until a running Loop has looked at everything n times more. It
// does so only while something is raised.
func (p *process) polls(n int) {
	p.t.Helper()
	for range n {
		was := p.Status().Reconciled
		within(p.t, patience, "another update", func() bool { return p.Status().Reconciled.After(was) })
	}
}

// metric returns the value of a counter or gauge with at most one label.
func (p *process) metric(name string, label ...string) float64 {
	p.t.Helper()
	families, err := p.reg.Gather()
	must(p.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (len(label) == 0 || m.GetLabel()[0].GetValue() == label[0]) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	p.t.Fatalf("there is no metric %s %q", name, label)
	return 0
}

// hasMetric checks a metric.
func (p *process) hasMetric(want float64, name string, label ...string) {
	p.t.Helper()
	if got := p.metric(name, label...); got != want {
		p.t.Errorf("%s %q is %v, want %v", name, label, got, want)
	}
}

// lint checks the form of all metrics.
func (p *process) lint() {
	p.t.Helper()
	problems, err := testutil.GatherAndLint(p.reg)
	if err != nil || len(problems) > 0 {
		p.t.Errorf("metrics: %v, %v", problems, err)
	}
}

// logged is what a Loop has logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// says checks how many lines hold a text.
func (l *logged) says(t testing.TB, times int, text string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	if n != times {
		t.Errorf("%q is in %d lines, want %d, of:\n%s", text, n, times, l)
	}
}

// hasError checks that the status has an error with a text, or none at all.
func hasError(t testing.TB, st Status, text string) {
	t.Helper()
	if all := strings.Join(st.Errors, "\n"); !strings.Contains(all, text) || text == "" && all != "" {
		t.Errorf("the status has the errors %q, want %q", st.Errors, text)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
