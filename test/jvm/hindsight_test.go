package jvm

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// detail is the stream of saved lines of gc.log.
const detail = "gc.log+detail"

// split splits a log at level info, as --persist-level does.
func split(text []byte) (persisted, withheld []byte) {
	var class ul.Classifier
	for line := range bytes.Lines(text) {
		if class.Classify(bytes.TrimSuffix(line, newline)).Level.Below(ul.Info) {
			withheld = append(withheld, line...)
		} else {
			persisted = append(persisted, line...)
		}
	}
	return persisted, withheld
}

// debugging starts a JVM that always logs debug lines, to the source and to a second output.
func debugging(r *levelRig, program ...string) *Process {
	r.Helper()
	r.Cleanup(func() { r.side.Kill() })
	return r.start(r.outputs(Output{Selection: "gc*=debug,safepoint=info", File: "gc.log"}), program...)
}

// persistedExactly requires that exactly the JVM's lines at info and above were persisted. It returns the others.
func persistedExactly(r *levelRig) (withheld []byte) {
	r.Helper()
	info, withheld := split(r.written("gc.log"))
	c := Compare(info, r.persisted("gc.log"))
	r.Logf("%s; %d lines withheld, %d saved", c, bytes.Count(withheld, newline), bytes.Count(r.persisted(detail), newline))
	if !c.Same() {
		r.Error("the persisted lines differ from the lines that the JVM wrote at info and above")
	}
	return withheld
}

// The sidecar is killed after lines were withheld, and again after the command that saves them. The lines in the
// window before the command and in the window after it are saved, each once, and older lines are not.
func TestHindsightHasTheDetailBeforeACommand(t *testing.T) {
	const window = 2 * time.Second
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk, "--persist-level", "info", "--hindsight", window.String(), "--hindsight-on", "")
		jvm := debugging(r, "Churn", "600000", "50") // so often that a window has only a small part of the collections
		r.shipped("gc.log", "Pause Young")
		time.Sleep(2 * window) // the JVM writes more than the sidecar holds
		r.side.Kill()
		r.up()
		asked := time.Now()
		save := r.begin("save")
		r.end(save, 0)
		if got := save.stdout.String(); !strings.HasPrefix(got, "saving ") || !strings.Contains(got, detail[len("gc.log"):]) {
			t.Errorf("save printed %q, want \"saving \" at its beginning and %q in it", got, detail[len("gc.log"):])
		}
		if st := statusOf(r); st.Hindsight == nil || st.Hindsight.Until.Before(asked) {
			t.Errorf("the status has the hindsight %+v, want one that lasts beyond %s", st.Hindsight, asked)
		}
		// A kill before the next commit would make the sidecar forget the save.
		lab.Eventually(r, patience, "saved lines are durable", func() bool { return statusOf(r).Saved > 0 })
		r.side.Kill()
		time.Sleep(window / 2)
		r.up()
		time.Sleep(2 * window) // the JVM also writes after the window
		jvm.Terminate()
		r.stop()
		withheld := persistedExactly(r)
		savedRuns(r, withheld)
		saved := r.persisted(detail)
		for line := range bytes.Lines(withheld) {
			var rec ul.Record
			rec.Parse(bytes.TrimSuffix(line, newline))
			when, _ := rec.When()
			if when.After(asked.Add(-window)) && when.Before(asked.Add(window)) && !bytes.Contains(saved, line) {
				t.Errorf("the save was requested at %s, but this line was not saved: %s", asked, line)
			}
		}
		if n, all := bytes.Count(saved, newline), bytes.Count(withheld, newline); n > all*9/10 {
			t.Errorf("%d of %d withheld lines are saved, want at most %d, since older lines are not saved", n, all, all*9/10)
		}
		if marks := r.soFar("ullage.log"); strings.Count(marks, "mark: detail-saved cause=command") != 1 {
			t.Errorf("want one mark of lines that a command saved: %s", marks)
		}
	})
}

// savedRuns requires that the saved lines of each thread are consecutive lines of that thread.
func savedRuns(r *levelRig, withheld []byte) {
	r.Helper()
	all := byThread(withheld)
	for thread, got := range byThread(r.persisted(detail)) {
		want := all[thread]
		at := slices.Index(want, got[0])
		if at < 0 || at+len(got) > len(want) || !slices.Equal(want[at:at+len(got)], got) {
			r.Errorf("thread %s: the %d saved lines are not consecutive among the %d that it wrote", thread, len(got), len(want))
		}
	}
}

// Every pause triggers a save, so all lines since the JVM's start are saved.
func TestHindsightHasTheDetailAroundAPause(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk, "--persist-level", "info", "--hindsight", "30s", "--hindsight-on", "pause>1ms")
		jvm := debugging(r, "Collect", "600000")
		r.shipped(detail, "[debug")
		jvm.Terminate()
		r.stop()
		if c := Compare(persistedExactly(r), r.persisted(detail)); !c.Same() {
			t.Errorf("the saved lines differ from the withheld lines, want the same: %s", c)
		}
	})
}
