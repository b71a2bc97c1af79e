package levels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// smallTmpfs mounts a small tmpfs as the source. full fills the tmpfs and returns free, which frees
// the space.
func (r *rig) smallTmpfs() (full func() (free func())) {
	r.t.Helper()
	lab.MountTmpfs(r.t, r.cfg.Source, "64k")
	return func() func() {
		path := filepath.Join(r.cfg.Source, "gc.log.0")
		if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err == nil {
			r.t.Error("writing more than the size of the tmpfs: got no error, want one")
		}
		return func() { must(r.t, os.Remove(path)) }
	}
}

func TestNothingIsRaisedWhileTheTmpfsIsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := r.smallTmpfs()
	free := full()
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	stop := p.run()
	within(t, patience, "the status shows an error", func() bool { return len(p.Status().Errors) > 0 })
	hasError(t, p.Status(), "not raised, because its baseline cannot be saved")
	hasError(t, p.Status(), "no space left on device")
	logs(t, j, fakejvm.OwnSelection)
	free()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status has no error any more", func() bool { return len(p.Status().Errors) == 0 })
	free = full()
	r.annotate()
	soon(t, patience, j, fakejvm.OwnSelection)
	within(t, patience, "no JVM is raised", func() bool { return p.metric("ullage_level_raised_jvms") == 0 })
	free()
	must(t, stop())
	r.settle()
	logs(t, j, fakejvm.OwnSelection)
}

func TestAFullTmpfsNeitherProlongsNorRepeatsARaise(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := r.smallTmpfs()
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	free := full()
	defer free()
	r.annotate("log", "safepoint*=debug", "log-for", "1h")
	p.step()
	until, n, raised := p.Status().Raise.Until, j.Count(), p.metric("ullage_level_raises_total", "annotation")
	for range 5 {
		p.step()
	}
	if again := p.Status().Raise.Until; !again.Equal(until) || j.Count() != n {
		t.Errorf("the end of the raise moved from %s to %s; the JVM was sent %q; want the same end and no command", until, again, j.Sent(n))
	}
	p.hasMetric(raised, "ullage_level_raises_total", "annotation")
	r.restored(p, j)
}
