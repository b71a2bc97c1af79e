package levels

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestABadAnnotationChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bad []string
		key string
	}{
		{[]string{"log", "gc*=loud"}, "ullage.dev/log"},
		{[]string{"log", "gc*=debug", "log-for", "never"}, "ullage.dev/log-for"},
		{[]string{"log", "all=off"}, "ullage.dev/log"},
		{[]string{"log", "safepoint*=debug\" output=/etc/passwd"}, "ullage.dev/log"},
		{[]string{"log-for", "25h"}, "ullage.dev/log-for"},
		{[]string{"log", "gc*=debug", "log-for", "1h", "lgo", "x"}, "ullage.dev/lgo"},
	} {
		r := newRig(t)
		j := r.jvm(1)
		r.annotate("log", "gc*=debug", "log-for", "1h")
		p := r.process()
		p.step()
		until := p.Status().Raise.Until
		r.annotate(c.bad...)
		for range 4 {
			p.step()
		}
		logs(t, j, fakejvm.Atop("gc*=debug"))
		st := p.Status()
		if st.Cause != plan.FromAnnotation || !st.Raise.Until.Equal(until) || len(st.Problems) != 1 || st.Problems[0].Key != c.key || len(st.Errors) != 0 {
			t.Errorf("%q: the status is %+v, want the raise of the annotation until %s, 1 problem, of %s, and no error", c.bad, st, until, c.key)
		}
		p.hasMetric(1, "ullage_annotation_problems")
		p.log.says(t, 1, "bad annotation")
		p.kill()
		p = r.process() // a restart does not change the raise either
		p.step()
		if st := p.Status(); !st.Raise.Until.Equal(until) || j.Count() != 2 {
			t.Errorf("%q, after a restart: the status is %+v; the JVM was sent %q; want the raise until %s and no command", c.bad, st, j.Sent(2), until)
		}
		r.annotate("log", "gc*=debug", "log-for", "1h")
		p.step()
		if st := p.Status(); len(st.Problems) != 0 || !st.Raise.Until.Equal(until) {
			t.Errorf("%q, after the correction: the status is %+v, want no problem and the raise until %s", c.bad, st, until)
		}
		p.hasMetric(0, "ullage_annotation_problems")
		r.restored(p, j)
	}
}

func TestARaiseEndsInTimeAlsoWhileItsAnnotationIsBad(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1s")
	p := r.process()
	p.run()
	briefly(t, j, fakejvm.Atop("gc*=debug"))
	r.annotate("log", "gc*=loud", "log-for", "1h")
	soon(t, patience, j, fakejvm.OwnSelection)
}

func TestABadAnnotationOfAFreshProcessAsksForNothing(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "0s")
	p := r.process()
	p.step()
	p.step()
	if p.Status().Cause != "" || j.Count() != 0 {
		t.Errorf(`the status is %+v; the JVM was sent %q; want Cause "" and no command`, p.Status(), j.Sent(0))
	}
}

func TestAnAnnotationsFileThatIsEditedInPlaceIsReadAgain(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	p.run()
	for _, level := range []string{"debug", "trace", "debug", "trace"} { // files of the same length, written within one tick of the clock
		must(t, os.WriteFile(r.cfg.Annotations, []byte(`ullage.dev/log="gc*=`+level+"\"\n"), 0o600))
		soon(t, patience, j, fakejvm.Atop("gc*="+level))
	}
	must(t, os.WriteFile(r.cfg.Annotations, nil, 0o600))
	soon(t, patience, j, fakejvm.OwnSelection)
}

// replaced has functions that put something else in the place of the annotations file.
var replaced = map[string]func(r *rig, path string) error{
	"a FIFO":      func(_ *rig, path string) error { return unix.Mkfifo(path, 0o600) },
	"a directory": func(_ *rig, path string) error { return os.Mkdir(path, 0o700) },
	"a device":    func(_ *rig, path string) error { return os.Symlink("/dev/zero", path) },
	"itself":      func(_ *rig, path string) error { return os.Symlink(path, path) },
	"below a file": func(r *rig, path string) error {
		must(r.t, os.WriteFile(path+".file", nil, 0o600))
		return os.Symlink(path+".file/annotations", path)
	},
}

func TestSomethingElseInThePlaceOfTheAnnotationsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, replace := range replaced {
		r := newRig(t)
		j := r.jvm(1)
		r.annotate("log", "gc*=debug")
		p := r.process()
		p.step()
		must(t, os.Rename(r.cfg.Annotations, r.cfg.Annotations+".kept"))
		must(t, replace(r, r.cfg.Annotations))
		for range 5 {
			p.step()
		}
		if st := p.Status(); st.Cause != plan.FromAnnotation || j.Count() != 2 {
			t.Errorf("%s: the status is %+v; the JVM was sent %q; want the raise of the annotation and no command", name, st, j.Sent(2))
		}
		p.hasMetric(1, "ullage_annotation_problems")
		p.log.says(t, 1, "cannot read the annotations")
		if st := p.Status(); len(st.Errors)+len(st.Problems) == 0 {
			t.Errorf("%s: the status has no errors and no problems, want one because the annotations cannot be read", name)
		}
		must(t, os.Rename(r.cfg.Annotations+".kept", r.cfg.Annotations+".back"))
		must(t, os.RemoveAll(r.cfg.Annotations))
		must(t, os.Rename(r.cfg.Annotations+".back", r.cfg.Annotations))
		p.step()
		p.hasMetric(0, "ullage_annotation_problems")
		r.restored(p, j)
	}
}

func TestAnnotationsThatVanishForOnePollChangeNothing(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	for range 3 {
		must(t, os.Rename(r.cfg.Annotations, r.cfg.Annotations+".away"))
		p.step()
		must(t, os.Rename(r.cfg.Annotations+".away", r.cfg.Annotations))
		p.step()
	}
	if j.Count() != 2 {
		t.Errorf("the JVM was sent %q, want no further command", j.Sent(2))
	}
	must(t, os.Remove(r.cfg.Annotations))
	for range missingPolls {
		p.step()
	}
	logs(t, j, fakejvm.OwnSelection)
	p.log.says(t, 0, "WARN") // a missing file is not an error
}

func TestAFileThatIsMissingFromTheStartEndsASavedRaise(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	p.kill()
	must(t, os.Remove(r.cfg.Annotations))
	p = r.process()
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug")) // one poll is not enough to treat the file as removed
	p.step()
	logs(t, j, fakejvm.OwnSelection)
}

func TestAnnotationsThatCouldNotBeReadAreReadLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.WriteFile(r.cfg.Annotations, []byte(`ullage.dev/log="gc*=debug"`), 0o600))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(r.cfg.Annotations, old, old))
	dir := filepath.Dir(r.cfg.Annotations)
	must(t, os.Chmod(dir, 0o755)) // lets the other user reach the file
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	n := newAnnotations(r.cfg.Annotations, nil)
	lab.AsNobody(t, func() { n.poll(time.Now()) })
	if n.err == nil || !n.unknown || !strings.Contains(n.err.Error(), "permission denied") {
		t.Fatalf(`the error is %v, the request %+v, unknown: %t; want an error with "permission denied" and unknown: true`, n.err, n.request, n.unknown)
	}
	if n.poll(time.Now()); n.err != nil || n.request.Log.Selection.String() != "gc*=debug" {
		t.Errorf(`once the file can be read, the error is %v, the request %+v, want no error and "gc*=debug"`, n.err, n.request)
	}
}

// The part of the file that is not read may ask for something else, so the last requests stay in effect.
func TestAnnotationsThatAreTooLongChangeNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "annotations")
	good := `ullage.dev/log="gc*=debug"
ullage.dev/trigger="dropped"
ullage.dev/app-log="debug"
ullage.dev/adopt="gc*=info"
ullage.dev/save="one"
`
	n := newAnnotations(file, nil)
	must(t, os.WriteFile(file, []byte(good), 0o600))
	n.poll(time.Now())
	before := n.request
	must(t, os.WriteFile(file, []byte(strings.Repeat("#\n", 5<<20)), 0o600))
	n.poll(time.Now())
	wanted := n.request
	wanted.LogBad, wanted.TriggerBad, wanted.AppLogBad, wanted.AdoptedBad, wanted.SaveBad = false, false, false, false, false
	if wanted != before || before.Save != "one" || !before.SaysAdopted || before.AppLog.IsZero() || len(n.problems) != 1 {
		t.Errorf("the request is %+v, with the problems %v; want 1 problem and, apart from the Bad fields, %+v, with Save, SaysAdopted and AppLog set", n.request, n.problems, before)
	}
}

func TestEachNewValueOfTheAnnotationSavesOnce(t *testing.T) {
	r := newRig(t)
	r.annotate("save", "old")
	p := r.process()
	var saved []string
	p.to.Save = func(cause, why string) (control.Saving, error) {
		saved = append(saved, cause+": "+why)
		return control.Saving{}, nil
	}
	p.step() // saves nothing: the file may be older than the process
	for _, value := range []string{"one", "one", "two words", "one", "two", "", "two"} {
		if r.annotate("save", value); value == "" {
			r.annotate()
		}
		p.step()
	}
	want := []string{"annotation: annotation ullage.dev/save=one", "annotation: annotation ullage.dev/save=two", "annotation: annotation ullage.dev/save=two"}
	if !slices.Equal(saved, want) {
		t.Errorf("saved %q, want %q", saved, want)
	}
}
