package levels

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// rig is a pod: a source, the /tmp of its JVMs, and its annotations.
type rig struct {
	t       testing.TB
	cfg     Config
	to      Outlets
	written int // how often the kubelet wrote the annotations
	last    *process
}

// impatience is Attach.Timeout in tests in which a JVM does not answer. Other tests have a longer limit, for busy
// machines.
const impatience = time.Second

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, cfg: DefaultConfig()}
	r.cfg.Attach = attach.Config{Mode: attach.SharedTmp, Tmp: t.TempDir(), Timeout: patience}
	r.cfg.Source, r.cfg.Match = t.TempDir(), "*.log*"
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.cfg.Known = knownNames
	return r
}

// jvm starts a JVM that logs into the source.
func (r *rig) jvm(pid int) *fakejvm.JVM {
	r.t.Helper()
	return fakejvm.Start(r.t, r.cfg.Attach.Tmp, pid, filepath.Join(r.cfg.Source, "gc.log"))
}

// alone returns a pod with one JVM, for a test that runs in parallel.
func alone(t *testing.T) (*rig, *fakejvm.JVM) {
	t.Helper()
	t.Parallel()
	r := newRig(t)
	return r, r.jvm(1)
}

// raised returns a process that has just raised a JVM because of an annotation.
func (r *rig) raised(j *fakejvm.JVM) *process {
	r.t.Helper()
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	logs(r.t, j, fakejvm.Atop("gc*=debug"))
	return p
}

// restored removes the annotations and requires that the JVM has its own level after the next
// update.
func (r *rig) restored(p *process, j *fakejvm.JVM) {
	r.t.Helper()
	r.annotate()
	p.step()
	logs(r.t, j, fakejvm.OwnSelection)
}

// annotate writes the annotations as the kubelet does: into a new directory, to which it then redirects a link. The
// arguments are pairs of a name without the prefix and a value.
func (r *rig) annotate(pairs ...string) {
	r.t.Helper()
	annotations := map[string]string{"kubernetes.io/config.source": "api"}
	for i := 0; i < len(pairs); i += 2 {
		annotations[ask.Prefix+pairs[i]] = pairs[i+1]
	}
	dir := filepath.Dir(r.cfg.Annotations)
	r.written++
	data := fmt.Sprintf("..2026_11_21_08_00_00.%d", r.written)
	must(r.t, os.Mkdir(filepath.Join(dir, data), 0o755))
	must(r.t, os.WriteFile(filepath.Join(dir, data, "annotations"), []byte(lab.DownwardFile(annotations)), 0o644))
	must(r.t, os.Symlink(data, filepath.Join(dir, "..data_tmp")))
	must(r.t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if r.written == 1 {
		must(r.t, os.Symlink("..data/annotations", r.cfg.Annotations))
	} else {
		must(r.t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_11_21_08_00_00.%d", r.written-1))))
	}
}

// stateName is the name of the saved state.
const stateName = "levels.json"

// state is the path of a file of the state directory.
func (r *rig) state(name string) string { return filepath.Join(r.cfg.Source, statedir.Name, name) }

// The files of the levels' owner in the state directory, and two of the owner's bounds.
const (
	lockName   = "levels.lock"
	socketName = "levels.sock"
	maxRequest = 4 << 10 // bytes
	maxClients = 4       // at a time
)

// owner makes the test the owner of a source's levels, so that no Loop can become the owner.
func owner(t testing.TB, r *rig) *control.Owner {
	t.Helper()
	o := control.NewOwner(r.cfg.Source, nil)
	o.Await(t.Context())
	must(t, o.Unlocked())
	return o
}

// dial connects to the socket of the source's owner. The path of the socket may be long.
func dial(p *process) (net.Conn, error) {
	dir, err := os.Open(filepath.Join(p.cfg.Source, statedir.Name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName))
}

// process is the Loop of one process. It represents a sidecar. Until run is called, the test drives it with step and
// can kill it.
type process struct {
	*Loop
	t   testing.TB
	reg *prometheus.Registry
	log *logged
}

// process returns a new process after killing the previous one.
func (r *rig) process() *process {
	r.t.Helper()
	if r.last != nil {
		r.last.kill()
	}
	p := &process{t: r.t, reg: prometheus.NewRegistry(), log: &logged{}}
	p.Loop = New(r.cfg, trigger.New(trigger.DefaultConfig(), nil, p.reg), r.to, p.reg, p.log.Logger())
	p.triggers.Read() // as if nothing had been raised
	p.triggers.CaughtUp()
	p.triggers.Read()
	r.t.Cleanup(p.kill)
	r.last = p
	return p
}

// command is a process that runs one command.
func (r *rig) command() *control.Command { return control.NewCommand(r.cfg.Config) }

// during runs the process while f runs, so that a command in f can send it a request.
func (p *process) during(f func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.tick(ctx)
	var turning sync.WaitGroup
	turning.Go(func() { p.turn(ctx) })
	f()
	cancel()
	turning.Wait()
	p.runner.work.Wait()
}

// set raises with a command that sends the process a request. reset ends the raise in the same way.
func (p *process) set(sel string, lasts time.Duration) (changes []plan.Change, until time.Time, err error) {
	p.t.Helper()
	p.during(func() {
		changes, until, err = control.NewCommand(p.cfg.Config).Set(p.t.Context(), raiseTo(p.t, sel, lasts))
	})
	return changes, until, err
}

func (p *process) reset() (changes []plan.Change, err error) {
	p.t.Helper()
	p.during(func() { changes, _, err = control.NewCommand(p.cfg.Config).Reset(p.t.Context()) })
	return changes, err
}

// step is one tick of Run at which an update is due. An update waits for a JVM only for
// updatePatience, so step also runs the updates that follow when the remaining tasks end.
func (p *process) step() {
	p.t.Helper()
	p.next = time.Time{}
	p.tick(context.Background())
	for len(p.runner.running) > 0 {
		p.runner.work.Wait()
		_ = p.update(context.Background(), nil) // the status shows the error
	}
}

// retried steps until holds returns true: after a failure, the next attempt is due a second later.
func retried(p *process, holds func() bool) {
	p.t.Helper()
	within(p.t, patience, "the result of the next attempt", func() bool { p.step(); return holds() })
}

// spared steps until the next attempt would be due and requires that nothing is sent to the JVM.
func spared(p *process, j *fakejvm.JVM) {
	p.t.Helper()
	n := j.Count()
	for over := time.Now().Add(1500 * time.Millisecond); time.Now().Before(over); time.Sleep(pollInterval) {
		p.step()
	}
	p.step()
	j.HasTaken(n)
}

// kill does what the kernel does when the process is killed: the listener is closed, and the name
// of the socket remains.
func (p *process) kill() {
	p.owner.Stop()
	socket := filepath.Join(p.cfg.Source, statedir.Name, socketName)
	_ = os.Rename(socket, socket+".kept")
	p.owner.Release()
	_ = os.Rename(socket+".kept", socket)
}

// run starts Run. stop cancels Run and returns its error.
func (p *process) run() (stop func() error) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, func() {}) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	p.t.Cleanup(func() { _ = stop() })
	return stop
}
