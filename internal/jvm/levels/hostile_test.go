package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab/fakejvm"
)

// The application gives a socket two names, and the JVM is killed.
func TestASocketWithTwoNamesIsRaisedOnce(t *testing.T) {
	r, j := alone(t)
	must(t, os.Link(j.Socket(), filepath.Join(r.cfg.Attach.Tmp, ".java_pid2")))
	p := r.raised(j)
	j.HasTaken(2)
	j.Kill()
	r.annotate()
	p.step()
	p.step()
	if saved := p.savedJVMs(r); len(saved) > 0 {
		t.Errorf("the saved state still has %+v, want no JVM", saved)
	}
}

// A process that cleans /tmp removes the socket of a raised JVM. The JVM creates the socket again when a process
// attaches, and must be recognized as the same JVM.
func TestASocketThatIsCreatedAgainIsThatOfTheSameJVM(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	outputs := j.Outputs
	must(t, os.Remove(j.Socket()))
	p.step()
	p.step()
	j.Kill()
	j.Start()
	j.Lock()
	j.Outputs = outputs
	j.Unlock()
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	r.restored(p, j)
	if saved := p.savedJVMs(r); len(saved) > 0 {
		t.Errorf("the saved state still has %+v, want no JVM", saved)
	}
}

// A JVM that restarts with the same process ID is restored to its own selection, not to that of the earlier run.
func TestARestartedJVMIsAnother(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	j.Kill()
	must(t, os.Remove(j.Socket()))
	j.Began[2].Selection = "all=off,safepoint=info"
	j.Start()
	p.step()
	logs(t, j, "all=off,safepoint=info,gc*=debug")
	r.annotate()
	p.step()
	logs(t, j, "all=off,safepoint=info")
}

// The application empties the saved state of a raised JVM.
func TestABaselineThatIsKnownIsNotDropped(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	must(t, os.WriteFile(r.state(stateName), []byte(`{"raises":{},"jvms":{}}`), 0o600))
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	r.restored(p, j)
}

// The application writes a baseline of outputs that are not shipped.
func TestABaselineOfOtherOutputsReachesNone(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	r.annotate("log", "gc*=debug")
	p.step()
	text, err := os.ReadFile(r.state(stateName))
	must(t, err)
	for _, name := range []string{"stdout", "file=/dev/shm/ullage-outside.log", "file=" + r.cfg.Source + "/not-there.log"} {
		forged := strings.ReplaceAll(string(text), "file="+r.cfg.Source+"/gc.log", name)
		must(t, os.WriteFile(r.state(stateName), []byte(strings.ReplaceAll(forged, `"unsure":false`, `"unsure":true`)), 0o600))
		p2 := r.process()
		n := j.Count()
		p2.step()
		for _, cmd := range j.Sent(n) {
			if strings.Contains(cmd, name) {
				t.Errorf("%s: the JVM was sent %q, want no command that names this output", name, cmd)
			}
		}
		p2.kill()
	}
	if _, err := os.Stat("/dev/shm/ullage-outside.log"); err == nil {
		t.Error("a file was created outside the source, want none there")
	}
}

// A directory that has the name of the state's temporary file is not deleted recursively, however
// deep it is.
func TestADirectoryInThePlaceOfTheNewStateIsLeftAlone(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	p.step()
	must(t, os.MkdirAll(r.state(stateName+".new")+"/deep/er", 0o700))
	r.annotate("log", "gc*=debug")
	p.step()
	logs(t, j, fakejvm.OwnSelection)
	hasError(t, p.Status(), "its baseline cannot be saved")
	if _, err := os.Stat(r.state(stateName+".new") + "/deep/er"); err != nil {
		t.Error(err)
	}
}

// A stopped JVM does not delay the others, however often the wanted selection changes.
func TestASlowJVMHoldsUpNoChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = time.Hour
	slow, j := r.jvm(1), fakejvm.Start(t, r.cfg.Attach.Tmp, 2, filepath.Join(r.cfg.Source, "b.log"))
	slow.When(fakejvm.Always(fakejvm.Hang))
	p := r.process()
	stop := p.run()
	for i := range 4 {
		sel := fmt.Sprintf("gc*=%s", []string{"debug", "trace"}[i%2])
		r.annotate("log", sel)
		within(t, patience, "the JVM has the new selection", func() bool { return strings.HasSuffix(j.Selection(), sel) })
	}
	slow.When(nil)
	r.annotate()
	soon(t, patience, j, fakejvm.OwnSelection)
	must(t, stop())
}

// Errors quote the list of a hostile JVM only up to a bound.
func TestNamesOfAHostileJVMAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 1)
	j.Lock()
	for i := range 200 {
		j.Outputs = append(j.Outputs, fakejvm.Output{Name: fmt.Sprintf("file=/x/%d%s", i, strings.Repeat("\u202eA", 1000)), Selection: fakejvm.OwnSelection, Decorators: "none", Options: "filecount=0"})
	}
	j.Unlock()
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	size := 0
	for _, e := range p.Status().Errors {
		size += len(e)
	}
	if logged := p.log.String(); size == 0 || size > 2*maxQuoted || len(logged) > 3*maxQuoted || strings.Contains(logged, "\u202e") {
		t.Errorf("%d bytes in the status, %d in the log; want 1 to %d, at most %d, and no U+202E in the log", size, len(logged), 2*maxQuoted, 3*maxQuoted)
	}
}

// A name that is not valid UTF-8 could not be found again after it was saved.
func TestAnOutputWhoseNameIsNoTextIsNotRaised(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 1, r.cfg.Source+"/gc-\xe9.log")
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	logs(t, j, fakejvm.OwnSelection)
	hasError(t, p.Status(), "none of its outputs is shipped")
}
