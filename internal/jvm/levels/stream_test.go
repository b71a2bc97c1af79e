package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
	"github.com/ullage/ullage/test/lab/marked"
)

// The outputs of the JVM of twoStreams, as positions in the JVM's list.
const (
	gcOutput    = 2
	appOutput   = 3
	plainOutput = 4 // its lines show no level
)

// twoStreams returns a pod with a JVM that has three shipped outputs.
func twoStreams(t *testing.T) (*rig, *fakejvm.JVM) {
	t.Helper()
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = patience // the machine may be busy
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, filepath.Join(r.cfg.Source, "gc-%p.log"), filepath.Join(r.cfg.Source, "app-%t.log"), filepath.Join(r.cfg.Source, "plain.log"))
	j.Lock()
	defer j.Unlock()
	j.Began[plainOutput].Decorators = "uptime,tags"
	j.Outputs[plainOutput].Decorators = "uptime,tags"
	return r, j
}

// only checks that of the three outputs only the given ones are raised and that the others have their own
// selection.
func only(t testing.TB, j *fakejvm.JVM, raise string, outputs ...int) {
	t.Helper()
	for o, wrong := range notOnly(j, raise, outputs...) {
		t.Errorf("output %d has the wrong selection %s", o, wrong)
	}
}

// notOnly returns, by output, the selections that differ from what only requires.
func notOnly(j *fakejvm.JVM, raise string, outputs ...int) map[int]string {
	wrong := map[int]string{}
	for o := gcOutput; o <= plainOutput; o++ {
		want := fakejvm.OwnSelection
		if slices.Contains(outputs, o) {
			want = fakejvm.Atop(raise)
		}
		if is := j.SelectionOf(o); is != want {
			wrong[o] = is + ", want " + want
		}
	}
	return wrong
}

// setStream is [process.set] for the streams that match a pattern.
func (p *process) setStream(sel, stream string) (changes []plan.Change, err error) {
	p.t.Helper()
	p.during(func() {
		raise := raiseTo(p.t, sel, time.Hour)
		raise.Stream = stream
		changes, _, err = control.NewCommand(p.cfg.Config).Set(p.t.Context(), raise)
	})
	return changes, err
}

func TestOnlyTheNamedStreamIsRaised(t *testing.T) {
	for pattern, outputs := range map[string][]int{
		"gc-7.log": {gcOutput}, "gc-%p.log": {gcOutput}, "gc-*.log": {gcOutput},
		"app-2026-11-23_08-00-00.log": {appOutput}, "app-*": {appOutput}, "app-%t.log": {appOutput},
		"plain.log": {plainOutput}, "*.log": {gcOutput, appOutput, plainOutput}, "": {gcOutput, appOutput},
	} {
		t.Run(pattern, func(t *testing.T) {
			r, j := twoStreams(t)
			p := r.process()
			changes, err := p.setStream("gc*=debug", pattern)
			if err != nil || len(changes) != len(outputs) {
				t.Errorf("the changes are %+v, error %v; want %d changes and no error", changes, err, len(outputs))
			}
			only(t, j, "gc*=debug", outputs...)
			p.hasMetric(1, "ullage_level_raises_total", "command")
			if st := p.Status(); st.Raise.Stream != pattern {
				t.Errorf("the status is %+v, want the stream %q", st, pattern)
			}
			if _, err := p.reset(); err != nil {
				t.Error(err)
			}
			only(t, j, "")
		})
	}
}

// A list marks the outputs that a raise has changed.
func TestAListShowsWhichStreamIsRaised(t *testing.T) {
	r, j := twoStreams(t)
	p := r.process()
	if _, err := p.setStream("gc*=debug", "gc-7.log"); err != nil {
		t.Fatal(err)
	}
	check := func(how string) {
		t.Helper()
		listed, err := r.command().List(t.Context())
		if err != nil || len(listed) != 1 {
			t.Fatalf("%s: listed %+v, error %v; want 1 JVM and no error", how, listed, err)
		}
		for i, o := range listed[0].Outputs {
			if raised := o.Raised != ""; raised != (i == gcOutput) || o.ByName != (i == plainOutput) || o.Shipped != (i >= gcOutput) {
				t.Errorf("%s: listed %+v; want it raised: %t, by name: %t, shipped: %t", how, o, i == gcOutput, i == plainOutput, i >= gcOutput)
			}
		}
	}
	p.during(func() { check("by the owner") })
	p.kill()
	check("by the saved state")
	only(t, j, "gc*=debug", gcOutput)
}

// The first stream is restored before the second is raised, whether a command or an annotation asks
// for the second.
func TestAnotherStreamTakesTheRaise(t *testing.T) {
	r, j := twoStreams(t)
	r.annotate("log", "safepoint*=debug")
	p := r.process()
	p.step()
	only(t, j, "safepoint*=debug", gcOutput, appOutput)
	n := j.Count()
	changes, err := p.setStream("gc*=debug", "plain.log")
	if err != nil {
		t.Fatal(err)
	}
	only(t, j, "gc*=debug", plainOutput)
	var did []string
	for _, c := range changes {
		did = append(did, fmt.Sprintf("%s %v %v", filepath.Base(c.Output), strings.HasSuffix(c.From, "debug"), strings.HasSuffix(c.To, "debug")))
	}
	if want := []string{"app-%t.log true false", "gc-%p.log true false", "plain.log false true"}; !slices.Equal(did, want) {
		t.Errorf("the changes are %q, want %q", did, want)
	}
	sent := j.Sent(n + 2) // skips the list and the description that come first
	restored := slices.Index(sent, fakejvm.ListCommand)
	for i, cmd := range sent {
		if strings.Contains(cmd, "plain.log") && i < restored {
			t.Errorf("the JVM was sent %q, want the restore of the first stream verified before the second is raised", sent)
		}
	}
	p.hasMetric(1, "ullage_level_restores_total")
	p.log.says(t, 2, "another raise takes its place")
	if _, err := p.setStream("gc*=trace", "gc-7.log"); err != nil {
		t.Fatal(err)
	}
	only(t, j, "gc*=trace", gcOutput)
	p.plan.State.End(plan.FromCommand, "test", "") // the annotation's raise still lasts
	p.step()
	only(t, j, "safepoint*=debug", gcOutput, appOutput)
	r.annotate()
	p.step()
	only(t, j, "")
	if saved := p.savedJVMs(r); len(saved) > 0 {
		t.Errorf("the saved state still has %+v, want no JVM", saved)
	}
}

// A stream that no JVM has is an error, and the previous raise continues.
func TestAStreamThatNoJVMHasRaisesNothing(t *testing.T) {
	r, j := twoStreams(t)
	p := r.process()
	if _, err := p.setStream("gc*=debug", "gc-8.log"); err == nil || !strings.Contains(err.Error(), `"gc-8.log" (it has: gc-7.log, app-%t.log, plain.log)`) {
		t.Errorf(`got the error %v, want %s in it`, err, `"gc-8.log" (it has: gc-7.log, app-%t.log, plain.log)`)
	}
	only(t, j, "")
	if _, err := p.setStream("gc*=debug", "gc-7.log"); err != nil {
		t.Error(err)
	}
	changes, err := p.setStream("gc*=trace", "nosuch.log")
	if err == nil || len(changes) > 0 {
		t.Errorf("the changes are %+v, error %v, want an error and no changes", changes, err)
	}
	only(t, j, "gc*=debug", gcOutput)
	if st := p.Status(); st.Raise.Stream != "gc-7.log" || len(st.Errors) > 0 {
		t.Errorf(`the status is %+v, want Stream "gc-7.log" and no Errors`, st)
	}
}

// A typo in a stream must not end the raise in effect and begin it again: both steps would change the JVM and write a mark.
func TestATypoInAStreamLeavesTheRaiseInEffectAlone(t *testing.T) {
	for _, before := range []string{"", "gc-7.log"} {
		t.Run(before, func(t *testing.T) {
			r, j := twoStreams(t)
			m := &marked.Marks{}
			r.to.Mark = m.Add
			p := r.process()
			if _, err := p.setStream("gc*=debug", before); err != nil {
				t.Fatal(err)
			}
			m.Take()
			until, n := p.Status().Raise.Until, j.Count()
			changes, err := p.setStream("gc*=trace", "nosuch.log")
			if err == nil || !strings.Contains(err.Error(), `"nosuch.log" (it has: gc-7.log, app-%t.log, plain.log)`) || len(changes) > 0 {
				t.Errorf(`the changes are %+v, error %v; want no changes and an error with "nosuch.log" (it has: gc-7.log, app-%%t.log, plain.log)`, changes, err)
			}
			for _, cmd := range j.Sent(n) {
				if strings.Contains(cmd, "output=") {
					t.Errorf(`the JVM was sent %q, want no "output=" in it`, cmd)
				}
			}
			m.Gives(t)
			if got := p.Status().Raise.Until; !got.Equal(until) {
				t.Errorf("the raise ends at %s, want %s", got, until)
			}
		})
	}
}

// Only one of two JVMs has the stream. The other JVM is left alone, and that is not an error.
func TestAStreamOfOneOfTwoJVMs(t *testing.T) {
	r, j := twoStreams(t)
	other := r.jvm(8)
	p := r.process()
	if changes, err := p.setStream("gc*=debug", "gc-7.log"); err != nil || len(changes) != 1 {
		t.Errorf("the changes are %+v, error %v; want 1 change and no error", changes, err)
	}
	only(t, j, "gc*=debug", gcOutput)
	logs(t, other, fakejvm.OwnSelection)
	if other.HasTaken(3); len(p.Status().Errors) > 0 {
		t.Errorf("the status has the errors %q, want none", p.Status().Errors)
	}
}

// An output whose lines show no level is raised only if its stream is named.
func TestOutputsWithoutLevelsAreRaisedByName(t *testing.T) {
	r, j := alone(t)
	j.Lock()
	j.Outputs[2].Decorators = "uptime"
	j.Unlock()
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 3 {
		p.step()
	}
	logs(t, j, fakejvm.OwnSelection)
	j.HasTaken(1)
	hasError(t, p.Status(), "do not show their level")
	if _, err := p.setStream("gc*=debug", "gc.log"); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	hasError(t, p.Status(), "")
}

// An annotation names a stream as a command does. If it names another stream, another raise begins. If the name is
// malformed, the current raise stays in effect.
func TestAnAnnotationRaisesOneStream(t *testing.T) {
	r, j := twoStreams(t)
	p := r.process()
	for stream, output := range map[string]int{"gc-7.log": gcOutput, "plain.log": plainOutput} {
		r.annotate("log", "gc*=debug", "log-stream", stream)
		p.step()
		only(t, j, "gc*=debug", output)
		r.annotate("log", "gc*=trace", "log-stream", "/")
		p.step()
		only(t, j, "gc*=debug", output)
		if st := p.Status(); st.Raise.Stream != stream || len(st.Problems) != 1 {
			t.Errorf("the status is %+v, want the stream %q and 1 problem", st, stream)
		}
	}
	r.annotate("log", "gc*=debug")
	p.step()
	only(t, j, "gc*=debug", gcOutput, appOutput)
	r.annotate()
	p.step()
	only(t, j, "")
}

// A sidecar is killed at some moment between the change of the first stream and that of the second.
func TestAKilledSidecarRestoresTheFirstStream(t *testing.T) {
	for n := 1; n <= 5; n++ { // the JVM is sent a list, a description, a restore and two lists, then the raise
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r, j := twoStreams(t)
			p := r.process()
			if _, err := p.setStream("gc*=debug", "gc-7.log"); err != nil {
				t.Fatal(err)
			}
			p.kill()
			r.cfg.Attach.Timeout = 400 * time.Millisecond // for the commands that the JVM does not answer
			p = r.process()
			took := 0
			j.When(func(string) fakejvm.Reaction {
				if took++; took >= n {
					return fakejvm.Hang
				}
				return fakejvm.Obey
			})
			_, _ = p.setStream("gc*=trace", "plain.log")
			p.runner.work.Wait()
			j.When(nil)
			r.cfg.Attach.Timeout = patience
			p = r.process()
			if _, err := p.setStream("gc*=trace", "plain.log"); err != nil {
				t.Fatal(err)
			}
			only(t, j, "gc*=trace", plainOutput)
			if _, err := p.reset(); err != nil {
				t.Fatal(err)
			}
			only(t, j, "")
		})
	}
}

// The socket of a raised JVM is created again, and then another stream is wanted. The raised selection must not be taken for the JVM's own.
func TestASocketThatIsCreatedAgainForgetsNoStream(t *testing.T) {
	for _, stream := range []string{"plain.log", "nosuch.log", "gc-7.log", ""} {
		t.Run(stream, func(t *testing.T) {
			r, j := twoStreams(t)
			p := r.process()
			if _, err := p.setStream("gc*=debug", "gc-7.log"); err != nil {
				t.Fatal(err)
			}
			j.Lock()
			were := slices.Clone(j.Outputs)
			j.Unlock()
			must(t, os.Remove(j.Socket()))
			j.Kill()
			j.Start()
			j.Lock()
			j.Outputs = were
			j.Unlock()
			raise := plan.Begun(raiseTo(t, "gc*=trace", time.Hour), string(plan.FromCommand), "test", time.Now())
			raise.Stream = stream
			p.plan.State.Raises[plan.FromCommand] = raise
			outputs := map[string][]int{"plain.log": {plainOutput}, "gc-7.log": {gcOutput}, "": {gcOutput, appOutput}}[stream]
			retried(p, func() bool { return len(notOnly(j, "gc*=trace", outputs...)) == 0 }) // if no output has the stream, an error is reported first
			if _, err := p.reset(); err != nil {
				t.Fatal(err)
			}
			only(t, j, "")
		})
	}
}

// In the saved state of an older ullage, which did not know streams, a raise changed all outputs, even outputs without
// levels. They stay raised until the raise ends and are then restored.
func TestAStateWithoutStreamsIsContinued(t *testing.T) {
	for _, stream := range []string{"", "gc-7.log"} {
		t.Run(stream, func(t *testing.T) {
			r, j := twoStreams(t)
			p := r.process()
			if _, err := p.setStream("gc*=debug", "*.log"); err != nil {
				t.Fatal(err)
			}
			p.kill()
			text, err := os.ReadFile(r.state(stateName))
			must(t, err)
			old := strings.ReplaceAll(string(text), `"stream":"*.log",`, "")
			if old == string(text) || strings.Contains(old, "stream") {
				t.Fatalf(`the saved state is %s, want "stream":"*.log" in it and no other stream`, text)
			}
			must(t, os.WriteFile(r.state(stateName), []byte(old), 0o600))
			n := j.Count()
			p = r.process()
			p.step()
			only(t, j, "gc*=debug", gcOutput, appOutput, plainOutput)
			if sent := j.Sent(n); len(sent) != 0 || len(p.log.String()) > 0 {
				t.Errorf("the JVM was sent %q; the log is %s, want nothing sent and nothing logged", sent, p.log)
			}
			if stream != "" {
				if _, err := p.setStream("gc*=trace", stream); err != nil {
					t.Fatal(err)
				}
				only(t, j, "gc*=trace", gcOutput)
			}
			if _, err := p.reset(); err != nil {
				t.Fatal(err)
			}
			only(t, j, "")
		})
	}
}
