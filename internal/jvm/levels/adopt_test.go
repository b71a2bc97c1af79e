package levels

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
	"github.com/ullage/ullage/test/lab/marked"
)

// foreign returns a pod whose sidecar adopts and whose JVM does not log into the source. list is that JVM's reply
// to a list command.
func foreign(t *testing.T) (r *rig, j *fakejvm.JVM, list string) {
	t.Helper()
	t.Parallel()
	r = newRig(t)
	r.cfg.Adopt = selected(t, "gc*=debug,safepoint=info")
	r.cfg.Annotations = ""
	j = fakejvm.Start(t, r.cfg.Attach.Tmp, 7, "/data/app.log")
	return r, j, j.List()
}

// adoptedOutput is what the JVM lists for its new output, after the name of the source.
const adoptedOutput = "/gc-%p.log all=off,gc*=debug,safepoint=info time,uptime,level,tags filecount=5,filesize=0,async=false (reconfigured)\n"

// adopted requires that a JVM lists the outputs that it listed before, followed by its new output
// into the source.
func (r *rig) adopted(j *fakejvm.JVM, before string) {
	r.t.Helper()
	if is := j.List(); is != before+" #3: file="+r.cfg.Source+adoptedOutput {
		r.t.Errorf("the JVM lists\n%s\nwant\n%s", is, before+" #3: file="+r.cfg.Source+adoptedOutput)
	}
}

// released requires that a JVM lists exactly the outputs that it listed before the adoption.
func (r *rig) released(j *fakejvm.JVM, before string) {
	r.t.Helper()
	if is := j.List(); is != before {
		r.t.Errorf("the JVM lists\n%s, want\n%s", is, before)
	}
}

// drains ends a process in an orderly way.
func drains(p *process) {
	p.t.Helper()
	must(p.t, p.drain(context.Background()))
	p.kill()
}

func TestAJVMWithoutAnOutputIsGivenOneUntilTheSidecarEnds(t *testing.T) {
	r, j, before := foreign(t)
	var m marked.Marks
	r.to.Mark = m.Add
	p := r.process()
	p.step()
	r.adopted(j, before)
	m.Gives(t, `jvm-adopted stream=gc-7.log pid=7 selection=gc\*=debug,safepoint=info`)
	p.hasMetric(1, "ullage_adopted_jvms")
	if st := p.Status(); len(st.JVMs) != 1 || st.JVMs[0].Adopted.String() != "gc*=debug,safepoint=info" || len(st.Errors) > 0 {
		t.Errorf(`the status is %+v, want one JVM, adopted with "gc*=debug,safepoint=info", and no errors`, st)
	}
	n := j.Count()
	for range 3 {
		p.step()
	}
	j.HasTaken(n)
	drains(p)
	r.released(j, before)
	m.Gives(t, `jvm-released stream=gc-7.log pid=7 selection=gc\*=debug,safepoint=info why="the sidecar drains"`)
	if saved, err := os.ReadFile(r.state(stateName)); err != nil || strings.Contains(string(saved), "gc-%p") {
		t.Errorf(`the saved state is %s, error %v, want no "gc-%%p" in it`, saved, err)
	}
}

func TestAJVMWithAnOutputOfItsOwnIsNotAdopted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Adopt, r.cfg.Annotations = selected(t, "gc*=debug"), ""
	j := r.jvm(1)
	before := j.List()
	p := r.process()
	for range 3 {
		p.step()
	}
	r.released(j, before)
	j.HasTaken(1)
	drains(p)
	j.HasTaken(1)
}

// The annotation takes precedence over the flag and takes effect while the pod runs.
func TestAnAnnotationAdoptsAndReleases(t *testing.T) {
	r, j, before := foreign(t)
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.annotate("adopt", "off")
	p := r.process()
	p.step()
	r.released(j, before)
	r.annotate()
	p.step()
	r.adopted(j, before) // with the selection of the flag
	r.annotate("adopt", "gc=trace")
	p.step()
	if is := j.List(); !strings.Contains(is, " #3: file="+r.cfg.Source+"/gc-%p.log all=off,gc=trace time,") {
		t.Errorf("the JVM lists %s, want an output with gc=trace", is)
	}
	n := j.Count()
	r.annotate("adopt", "gc=loud")
	p.step()
	j.HasTaken(n)
	if st := p.Status(); len(st.Problems) != 1 {
		t.Errorf("the status is %+v, want one problem", st)
	}
	r.annotate("adopt", "off")
	p.step()
	r.released(j, before)
	p.log.says(t, 1, `why="it is no longer wanted"`)
}

func TestACommandReleasesUntilSomethingElseIsWanted(t *testing.T) {
	r, j, before := foreign(t)
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.annotate("adopt", "gc*=info")
	p := r.process()
	p.step()
	changes, err := p.reset()
	if err != nil || len(changes) != 1 || changes[0].To != "no output" {
		t.Errorf(`the reset made the changes %+v, error %v, want one change, to "no output"`, changes, err)
	}
	p.step()
	r.released(j, before)
	r.annotate()
	p.step()
	r.adopted(j, before)
}

func TestAnAdoptedOutputIsRaisedAndReleased(t *testing.T) {
	r, j, before := foreign(t)
	p := r.process()
	p.step()
	if _, _, err := p.set("gc*=trace", time.Hour); err != nil {
		t.Fatal(err)
	}
	if is := j.SelectionOf(3); is != "all=off,safepoint=info,gc*=trace" {
		t.Errorf(`the output is raised to %s, want "all=off,safepoint=info,gc*=trace"`, is)
	}
	drains(p)
	r.released(j, before)
	r.settle() // the raise is over, so the output has the selection of the adoption
	r.adopted(j, before)
}

// A raise that is waiting for a JVM also applies to a JVM that is adopted later.
func TestARaiseWaitsForTheAdoption(t *testing.T) {
	r, j, _ := foreign(t)
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.annotate("log", "gc*=trace")
	p := r.process()
	p.step()
	if is := j.SelectionOf(3); is != "all=off,safepoint=info,gc*=trace" {
		t.Errorf(`the output is raised to %s, want "all=off,safepoint=info,gc*=trace"`, is)
	}
	hasError(t, p.Status(), "")
}

func TestWhatAJVMRefusesItIsNotGiven(t *testing.T) {
	t.Parallel()
	for selection, words := range map[string]string{
		"saftypoint=info":            "Did you mean 'safepoint'?",
		"gc*=info,gc+ref+heap=trace": "No tag set matches selection: gc+ref+heap.", // the JVM applies a part of it
	} {
		r := newRig(t)
		r.cfg.Adopt, r.cfg.Annotations = selected(t, selection), ""
		j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7)
		before := j.List()
		p := r.process()
		p.step()
		r.released(j, before)
		hasError(t, p.Status(), words)
		if st := p.Status(); len(st.JVMs) != 1 || !strings.Contains(st.JVMs[0].Error, words) {
			t.Errorf("the status is %+v, want 1 JVM with %q in its error", st, words)
		}
		spared(p, j)
		drains(p)
		p.hasMetric(0, "ullage_adopted_jvms")
	}
}

// The sidecar knows only the JVM's socket. In the JVM's file system, the source's path names another
// directory.
func TestAJVMThatDoesNotSeeTheSourceIsLeftAlone(t *testing.T) {
	r, j, before := foreign(t)
	j.Elsewhere = t.TempDir()
	p := r.process()
	p.step()
	r.released(j, before)
	hasError(t, p.Status(), "is not the shipped directory")
	spared(p, j)
}

func TestNothingIsAdoptedThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Adopt, r.cfg.Annotations = selected(t, "gc*=debug"), ""
	free := r.smallTmpfs()()
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7)
	before := j.List()
	p := r.process()
	p.step()
	r.released(j, before)
	hasError(t, p.Status(), "not adopted, because the adoption cannot be saved")
	free()
	retried(p, func() bool { return p.metric("ullage_adopted_jvms") == 1 })
	hasError(t, p.Status(), "")
	drains(p)
	r.released(j, before)
}

// The sidecar is killed at some moment, and the JVM may or may not obey the command in progress. If adoption is still
// wanted, the successor adopts the JVM; otherwise, it releases the JVM.
func TestAKillAroundAnAdoption(t *testing.T) { aroundAKill(t, false) }

func TestAKillAroundARelease(t *testing.T) { aroundAKill(t, true) }

// aroundAKill kills the sidecar around the command that creates the output or, if the sidecar
// drains, around the command that removes the output.
func aroundAKill(t *testing.T, drain bool) {
	t.Parallel()
	for name, how := range map[string]fakejvm.Reaction{"before the command": fakejvm.Hang, "after the command, before the save": fakejvm.Stumble} {
		for _, wanted := range []bool{true, false} {
			r := newRig(t)
			r.cfg.Attach.Timeout = impatience
			r.cfg.Adopt, r.cfg.Annotations = selected(t, "gc*=debug,safepoint=info"), ""
			j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, "/data/app.log")
			before := j.List()
			p := r.process()
			if drain {
				p.step()
				p.plan.Draining = true
			}
			r.killedAt(p, j, 1, fakejvm.Configuring, how)
			if !wanted {
				r.cfg.Adopt = ask.Selection{}
			}
			p = r.settle()
			if wanted {
				r.adopted(j, before)
				drains(p)
			}
			r.released(j, before)
			if t.Failed() {
				t.Fatalf("killed %s; adoption is still wanted: %v", name, wanted)
			}
		}
	}
}

// After a kill the JVM keeps its output. The successor does not create the output again, because
// the JVM would write nothing for a moment.
func TestASuccessorGoesOnWithTheOutput(t *testing.T) {
	r, j, before := foreign(t)
	r.process().step()
	n := j.Count()
	p := r.settle()
	r.adopted(j, before)
	if sent := j.Sent(n); len(sent) != 1 || sent[0] != fakejvm.ListCommand {
		t.Errorf("the JVM was sent %q, want one list and nothing else", sent)
	}
	drains(p)
	r.released(j, before)
}

// A JVM that has created its socket again has another ID.
func TestAJVMWithAnotherSocketIsReleased(t *testing.T) {
	r, j, before := foreign(t)
	r.process().step()
	r.adopted(j, before)
	list := j.List()
	has := j.Began
	j.Lock()
	j.Began = append(j.Began, j.Outputs[len(j.Outputs)-1])
	j.Unlock()
	j.Restart()
	j.Began = has
	if is := j.List(); is != list {
		t.Fatalf("the JVM lists\n%s, want\n%s", is, list)
	}
	r.cfg.Adopt = ask.Selection{}
	r.settle()
	r.released(j, before)
}

// A JVM that ended while it was adopted is forgotten, and the next run is adopted.
func TestTheNextRunOfAJVMIsAdopted(t *testing.T) {
	r, j, before := foreign(t)
	p := r.process()
	p.step()
	j.Restart()
	p.step()
	r.adopted(j, before)
	drains(p)
	r.released(j, before)
}

// Nothing that the application writes into the saved state makes the sidecar remove one of the application's own outputs.
func TestAForgedAdoptionHarmsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Annotations = ""
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, filepath.Join(r.cfg.Source, "gc.log"))
	before := j.List()
	r.process().step()
	r.last.kill()
	for _, output := range []string{"file=" + r.cfg.Source + "/gc.log", "stdout", `file=/x" what=all=off/gc-%p.log`, "file=gc-%p.log"} {
		forged := `{"raises":{},"jvms":{},"adopted":{"1:2:3":{"pid":7,"output":` + strconv.Quote(output) + `,"selection":"gc=info","given":true,"unsure":false}}}`
		must(t, os.WriteFile(r.state(stateName), []byte(forged), 0o600))
		p := r.process()
		p.step()
		p.step()
		r.released(j, before)
		p.log.says(t, 1, "saved log levels are damaged")
	}
	for _, cmd := range j.Sent(0) {
		if cmd != fakejvm.ListCommand {
			t.Errorf("the JVM was sent %q, want only lists", cmd)
		}
	}
}

// If no process manages the levels, a command restores the JVMs that a killed process left changed. As with any reset,
// this ends the raise of the annotation.
func TestWhatAKilledSidecarLeavesIsRestoredWithoutASuccessor(t *testing.T) {
	r, j, before := foreign(t)
	if _, err := Restore(t.Context(), r.cfg.Config); !errors.Is(err, control.ErrNoOwner) {
		t.Errorf("with nothing to restore: got the error %v, want %v", err, control.ErrNoOwner)
	}
	r.cfg.Annotations = filepath.Join(t.TempDir(), "annotations")
	r.annotate("log", "gc*=trace")
	p := r.process()
	p.step()
	if is := j.SelectionOf(3); is != "all=off,safepoint=info,gc*=trace" {
		t.Fatalf(`the output is raised to %s, want "all=off,safepoint=info,gc*=trace"`, is)
	}
	p.kill()
	changes, err := Restore(t.Context(), r.cfg.Config)
	if err != nil || len(changes) != 2 {
		t.Errorf("the changes are %+v, error %v; want 2 changes and no error", changes, err)
	}
	r.released(j, before)
	r.settle()
	r.adopted(j, before)
}

// If another sidecar has adopted a JVM, the adoption is tried again, because that sidecar may end.
func TestAHeldJVMIsNotGivenUp(t *testing.T) {
	t.Parallel()
	if plan.Lasting(outputs.ErrHeld) || !plan.Lasting(outputs.ErrElsewhere) {
		t.Error("ErrHeld must not be lasting, and ErrElsewhere must be")
	}
}
