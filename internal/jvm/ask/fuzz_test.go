package ask

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ullage/ullage/test/lab"
)

// checkSound checks that a request is as its documentation promises.
func checkSound(t *testing.T, r Request) {
	t.Helper()
	lasts := func(d time.Duration) bool { return d >= MinFor && d <= MaxRaise }
	if r.Log.IsZero() != (r.Log == Raise{}) || !r.Log.IsZero() && (r.LogBad || r.Log.Check() != nil) || len(r.Log.ID) > MaxID {
		t.Errorf("the request is %+v; want either no log or a sound log that is not bad, with an ID of at most %d bytes", r, MaxID)
	}
	if r.Trigger.IsZero() != (r.TriggerLog == Raise{}) || !r.Trigger.IsZero() && (r.TriggerBad || r.TriggerLog.Check() != nil) {
		t.Errorf("the request is %+v; want either no trigger and no raise for it or a trigger with a sound raise that is not bad", r)
	}
	if r.AppLog.IsZero() != (r.AppLogFor == 0) || !r.AppLog.IsZero() && (r.AppLogBad || !lasts(r.AppLogFor)) {
		t.Errorf("the request is %+v; want either no app-log and no duration or an app-log for %v to %v that is not bad", r, MinFor, MaxRaise)
	}
	if again, err := ParseTrigger(r.Trigger.String()); !r.Trigger.IsZero() && (err != nil || again != r.Trigger) {
		t.Errorf("the trigger %q is read back as %q, error %v; want the same and no error", r.Trigger, again, err)
	}
}

// FuzzParseAnnotations reads files that no kubelet wrote.
func FuzzParseAnnotations(f *testing.F) {
	for _, file := range []string{"", "\x00", "ullage.dev/", "ullage.dev/log=\"gc*=debug\"\nullage.dev/log-for=\"1m\"\r\n", "ullage.dev/trigger = \"pause>1s\" \n# x\n",
		"ullage.dev/log=\"\\", "ullage.dev/log='g'", "ullage.dev/lgo=\"\\x00\"\nullage.dev/trigger-log=\"all\"", " ullage.dev/trigger-for\t=\"\"",
		"ullage.dev/app-log=\"Warn\"\nullage.dev/app-log-for=\"25h\"\n", "ullage.dev/app-log=\"com.acme=debug, info\"\n"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, problems, err := ParseAnnotations(bytes.NewReader(file), knownNames)
		if err != nil {
			t.Fatal(err)
		}
		checkSound(t, r)
		checkProblems(t, problems)
		if (r.LogBad || r.TriggerBad || r.AppLogBad || r.AdoptedBad || r.SaveBad) && len(problems) == 0 {
			t.Errorf("a group is bad, but there is no problem: %+v", r)
		}
	})
}

// The names that Kubernetes allows for annotations, and a few more.
var annotationName = regexp.MustCompile(`^[-A-Za-z0-9_./]{0,63}$`)

// FuzzParseAnnotationsRoundTrip reads the file that a kubelet writes for a map.
func FuzzParseAnnotationsRoundTrip(f *testing.F) {
	f.Add("gc*=debug", "1m", "pause>500ms", "safepoint", "2h", "xlog", "gc")
	f.Add("gc*=debug\" output=/etc/passwd", "", "dropped,\nwarning", "\xff\x00", "1s\u202e", "log-fro", "\\\"\a")
	f.Fuzz(func(t *testing.T, log, logFor, trigger, triggerLog, triggerFor, name, value string) {
		annotations := map[string]string{Prefix + "log": log, Prefix + "log-for": logFor, Prefix + "trigger": trigger,
			Prefix + "trigger-log": triggerLog, Prefix + "trigger-for": triggerFor, "other/" + name: value}
		if annotationName.MatchString(name) {
			annotations[Prefix+name] = value
		}
		file := lab.DownwardFile(annotations)
		for line := range strings.SplitSeq(file, "\n") {
			if len(line) > maxLine {
				t.Skip("a long line is a problem")
			}
		}
		want, wantProblems := ParseRequest(annotations, knownNames)
		got, problems, err := ParseAnnotations(strings.NewReader(file), knownNames)
		if err != nil {
			t.Fatal(err)
		}
		checkSound(t, got)
		checkProblems(t, problems)
		if got != want {
			t.Errorf("got %+v, want %+v from %s", got, want, file)
		}
		if diff := cmp.Diff(wantProblems, problems, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got)\n%s from %s", diff, file)
		}
	})
}

func FuzzParseTrigger(f *testing.F) {
	for _, text := range []string{"", "pause>500ms", " pause > 1.5s ,io-stall", "dropped,warning,", "pause>1h0m0s,io-stall,dropped,warning", "Pause>1", "\xff>\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trigger, err := ParseTrigger(text)
		if err != nil {
			if !trigger.IsZero() || !strings.Contains(err.Error(), "write") && !strings.Contains(err.Error(), triggerUsage) {
				t.Errorf("ParseTrigger(%q) = %q, %v; want no trigger and an error that says what to write", text, trigger, err)
			}
			return
		}
		if trigger.IsZero() || trigger.Pause != 0 && (trigger.Pause < minPause || trigger.Pause > maxPause) {
			t.Errorf("ParseTrigger(%q) = %+v; want a trigger, and its pause, if any, to be %v to %v", text, trigger, minPause, maxPause)
		}
		again, err := ParseTrigger(trigger.String())
		if err != nil || again != trigger || again.String() != trigger.String() {
			t.Errorf("%q is written as %q and reads back as %q, %v; want the same and no error", text, trigger, again, err)
		}
	})
}

// FuzzParseTriggerRoundTrip writes any trigger and reads it back.
func FuzzParseTriggerRoundTrip(f *testing.F) {
	f.Add(int64(500*time.Millisecond), true, false, true)
	f.Add(int64(maxPause), false, false, false)
	f.Fuzz(func(t *testing.T, pause int64, ioStall, dropped, warning bool) {
		want := Trigger{time.Duration(pause), ioStall, dropped, warning}
		legal := pause == 0 || want.Pause >= minPause && want.Pause <= maxPause
		got, err := ParseTrigger(want.String())
		if want.IsZero() || !legal {
			if err == nil {
				t.Errorf("%+v reads back as %+v, want an error", want, got)
			}
			return
		}
		if err != nil || got != want {
			t.Errorf("%+v is written as %q and reads back as %+v, %v; want the same and no error", want, want, got, err)
		}
	})
}
