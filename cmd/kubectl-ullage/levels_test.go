package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)

// ours is the raise that the tests request.
var ours = wanted{selection: "gc*=debug", lasts: 10 * time.Minute, id: "abcdefghijkl"}

func raised(cause, selection string, lasts time.Duration) *admin.Raise {
	return &admin.Raise{Cause: cause, Why: "because", Selection: selection, ID: ours.id, Since: noon, Until: noon.Add(lasts)}
}

func TestARaiseIsDoneWhenEveryJVMHasIt(t *testing.T) {
	mine := raised("annotation", ours.selection, ours.lasts)
	earlier := *mine
	earlier.ID = "zyxwvutsrqpo"
	another := *mine
	another.Stream = "gc.log"
	has := admin.JVM{PID: 1, Applied: ours.selection, Outputs: []string{"file=a", "file=b"}}
	const has1, until = "pid 1: gc*=debug in addition to its own, on file=a, file=b", "until 12:10:00, in 10m0s"
	unseen := []string{"the sidecar has not seen the annotations yet (it needs --annotations)"}
	for name, c := range map[string]struct {
		now  *admin.Levels
		want verdict
	}{
		"all have it":          {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has}}, verdict{done: []string{has1, until}}},
		"nothing seen":         {&admin.Levels{}, verdict{unseen: true, waiting: unseen}},
		"the file is unread":   {&admin.Levels{Errors: []string{"open: denied"}}, verdict{unseen: true, waiting: append(slices.Clone(unseen), "open: denied")}},
		"an earlier raise":     {&admin.Levels{Raise: &earlier, JVMs: []admin.JVM{has}}, verdict{unseen: true, waiting: unseen}},
		"an earlier selection": {&admin.Levels{Raise: raised("annotation", "gc=debug", ours.lasts)}, verdict{unseen: true, waiting: unseen}},
		"of another stream":    {&admin.Levels{Raise: &another, JVMs: []admin.JVM{has}}, verdict{unseen: true, waiting: unseen}},
		"a trigger's":          {&admin.Levels{Raise: raised("trigger", ours.selection, ours.lasts), JVMs: []admin.JVM{has}}, verdict{unseen: true, waiting: unseen}},
		"an old bad annotation": {&admin.Levels{Annotations: []admin.Annotation{{Key: logKey, Value: "gc=loud", Problem: "no level"}}},
			verdict{unseen: true, waiting: unseen}},
		"another bad annotation": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has}, Annotations: []admin.Annotation{{Key: ask.Prefix + "trigger", Value: "x"}}},
			verdict{done: []string{has1, until}}},
		"no JVM yet":   {&admin.Levels{Raise: mine}, verdict{waiting: []string{"no JVM was found yet"}}},
		"none to find": {&admin.Levels{Raise: mine, Errors: []string{"waiting for a JVM"}}, verdict{waiting: []string{"waiting for a JVM"}}},
		"one has what was before": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has, {PID: 7, Applied: "gc=debug"}}},
			verdict{done: []string{has1, until}, waiting: []string{"pid 7 does not have it yet"}}},
		"one is busy": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has, {PID: 7, Error: "busy", Kind: "timeout"}}, Errors: []string{"busy"}},
			verdict{done: []string{has1, until}, waiting: []string{"busy"}}},
		"one refuses": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has, {PID: 7, Error: "no", Kind: "refused"}}, Errors: []string{"no"}},
			verdict{done: []string{has1, until}, failed: []string{"no"}}},
		"one may not be asked": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{{PID: 7, Error: "uid", Kind: "not_permitted"}}, Errors: []string{"uid"}},
			verdict{failed: []string{"uid"}}},
		"one logs elsewhere": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{has, {PID: 7, Error: "elsewhere", Kind: "error"}}},
			verdict{done: []string{has1, until}}},
		"all log elsewhere": {&admin.Levels{Raise: mine, JVMs: []admin.JVM{{PID: 7, Error: "elsewhere"}}}, verdict{waiting: []string{"elsewhere"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, ours.judge(nil, c.now), cmp.AllowUnexported(verdict{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestABadAnnotationOfOursIsNotWaitedFor(t *testing.T) {
	w := wanted{selection: strings.Repeat("gc+heap=debug,", 9) + "gc=info", lasts: ours.lasts, id: ours.id, stream: "gc-*.log"}
	for _, a := range []admin.Annotation{
		{Key: logKey, Value: w.selection[:60] + "…", Problem: "no"},
		{Key: logForKey, Value: "10m0s", Problem: "no"},
		{Key: logIDKey, Value: ours.id, Problem: "unknown annotation"}, // an older sidecar
		{Key: logStreamKey, Value: "gc-*.log", Problem: "unknown annotation"},
	} {
		if v := w.judge(nil, &admin.Levels{Annotations: []admin.Annotation{a}}); len(v.failed) != 1 || !strings.Contains(v.failed[0], a.Key) {
			t.Errorf("the annotation is %+v, the verdict %+v, want one failure that names the annotation", a, v)
		}
	}
}

func TestAResetIsDoneWhenNoJVMHasIt(t *testing.T) {
	before := &admin.Levels{JVMs: []admin.JVM{{PID: 1, Applied: "gc=debug"}, {PID: 7}}}
	for name, c := range map[string]struct {
		now  *admin.Levels
		want verdict
	}{
		"restored":     {&admin.Levels{JVMs: []admin.JVM{{PID: 1}}}, verdict{done: []string{"pid 1 is back at its own level, without gc=debug"}}},
		"not seen":     {&admin.Levels{Raise: raised("annotation", "gc=debug", time.Minute)}, verdict{unseen: true, waiting: []string{"the sidecar has not yet seen that the annotations are gone"}}},
		"on the way":   {&admin.Levels{JVMs: []admin.JVM{{PID: 1, Applied: "gc=debug"}}}, verdict{waiting: []string{"pid 1 still has gc=debug"}}},
		"fails":        {&admin.Levels{JVMs: []admin.JVM{{PID: 1, Applied: "gc=debug", Error: "busy"}}}, verdict{waiting: []string{"busy"}}},
		"broken":       {&admin.Levels{Errors: []string{"remade"}}, verdict{done: []string{"pid 1 is back at its own level, without gc=debug"}, failed: []string{"remade"}}},
		"a trigger's":  {&admin.Levels{Raise: raised("trigger", "gc=debug", time.Minute)}, verdict{done: []string{"still raised to gc=debug until 12:01:00: because"}}},
		"levels alone": {nil, verdict{done: []string{"the sidecar does not change log levels"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, judgeReset(before, c.now), cmp.AllowUnexported(verdict{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if v := judgeReset(nil, &admin.Levels{}); !slices.Equal(v.done, []string{"nothing was raised"}) {
		t.Errorf("the verdict on a reset is %+v, want only \"nothing was raised\" in done", v)
	}
}

func TestARaiseOfEventsIsDoneWhenTheSidecarHasIt(t *testing.T) {
	w := wanted{selection: "com.acme=debug", lasts: ours.lasts, id: ours.id, app: true}
	mine := admin.AppRaise{Cause: fromAnnotation, Level: w.selection, ID: w.id, Until: noon.Add(w.lasts)}
	earlier, another, command := mine, mine, mine
	earlier.ID, another.Level, command.Cause = "zyxwvutsrqpo", "debug", fromCommand
	unseen := verdict{unseen: true, waiting: []string{"the sidecar has not seen the annotations yet (it needs --annotations)"}}
	for name, c := range map[string]struct {
		now  *admin.Levels
		want verdict
	}{
		"it has it":          {&admin.Levels{App: &mine}, verdict{done: []string{"the application's events are raised to com.acme=debug until 12:10:00, in 10m0s"}}},
		"nothing seen":       {&admin.Levels{}, unseen},
		"an earlier raise":   {&admin.Levels{App: &earlier}, unseen},
		"other levels":       {&admin.Levels{App: &another}, unseen},
		"a selection raised": {&admin.Levels{Raise: raised(fromCommand, "gc=debug", time.Hour)}, unseen},
		"a bad annotation of ours": {&admin.Levels{Annotations: []admin.Annotation{{Key: appLogKey, Value: "com.acme=debug", Problem: "no"}}},
			verdict{failed: []string{`the sidecar refuses the annotation ullage.dev/app-log "com.acme=debug": no`}}},
		"levels alone": {&admin.Levels{Off: true}, verdict{failed: []string{errOff.Error()}}},
		"a command's": {&admin.Levels{App: &command}, verdict{failed: []string{"'ullage levels set' has raised the application's events to com.acme=debug until 12:10:00, " +
			"and a command overrides annotations: end that raise first, with 'ullage levels reset' in the sidecar"}}},
	} {
		if d := cmp.Diff(c.want, w.judge(nil, c.now), cmp.AllowUnexported(verdict{})); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
	before := &admin.Levels{App: &mine}
	if v := judgeReset(before, before); !v.unseen {
		t.Errorf("while the raise is in effect, the verdict on a reset is %+v, want unseen true", v)
	}
	if v := judgeReset(before, &admin.Levels{}); !slices.Equal(v.done, []string{"the application's events are back at their own levels, without com.acme=debug"}) {
		t.Errorf("without the raise, a reset is %+v, want the end of the raise to com.acme=debug in done", v)
	}
}

func TestAnnotationsThatWereInEffectAreNotDeliveredAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	const first, second = `{"started":"2026-11-20T12:00:00Z"}`, `{"started":"2026-11-20T12:01:00Z"}`
	busy, has := verdict{waiting: []string{"busy"}}, verdict{done: []string{"it has it"}}
	unseen := verdict{unseen: true, waiting: []string{"unseen"}}
	for name, c := range map[string]struct {
		statuses  []string // the answers of the sidecar; the last answer is repeated
		verdicts  []verdict
		want      verdict
		annotated bool
	}{
		"they end":                         {[]string{first}, []verdict{busy, unseen}, verdict{failed: []string{overtaken}}, false},
		"they end after a restart":         {[]string{first, first, second}, []verdict{busy, busy, unseen, busy, unseen}, verdict{failed: []string{overtaken}}, false},
		"the sidecar is restarted":         {[]string{first, second}, []verdict{busy, unseen, has}, has, false},
		"the first delivery is not seen":   {[]string{first}, []verdict{unseen, unseen, has}, has, true},
		"a restarted sidecar sees nothing": {[]string{first, second}, []verdict{unseen, unseen, has}, has, true},
	} {
		t.Run(name, func(t *testing.T) {
			calls := filepath.Join(dir, "calls")
			_ = os.Remove(calls) // of the case before
			answer := answer{of: sidecar{cluster: cluster{kubectl: "kubectl"}, pod: "web-0", container: container{Name: "ullage"}}}
			next := func() {
				if err := os.WriteFile(filepath.Join(dir, "web-0.ullage.out"), []byte(c.statuses[0]), 0o600); err != nil {
					t.Fatal(err)
				}
				c.statuses = c.statuses[min(1, len(c.statuses)-1):]
			}
			next()
			judge := func(_, _ *admin.Levels) verdict {
				next()
				v := c.verdicts[0]
				c.verdicts = c.verdicts[1:]
				return v
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got := poll(ctx, answer, judge, &delivery{of: answer.of, idKey: logIDKey, shown: newProgress(io.Discard, 1)})
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(verdict{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			text, err := os.ReadFile(calls)
			if annotated := strings.Contains(string(text), "annotate"); err != nil || annotated != c.annotated {
				t.Errorf("the pod was annotated: %t, error %v; want %t and no error; the calls are\n%s", annotated, err, c.annotated, text)
			}
		})
	}
}

func TestTheSidecarTakesEveryIDAndTellsThemApart(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		req, problems := ask.ParseRequest(map[string]string{logKey: "gc", logIDKey: id}, nil)
		if len(problems) > 0 || req.Log.ID != id || seen[id] {
			t.Fatalf("the identifier %q is read as %+v, with the problems %v; seen before: %v; want the same new identifier and no problem", id, req, problems, seen[id])
		}
		seen[id] = true
	}
}

func TestLevelsAreShownWithAllThatIsWrong(t *testing.T) {
	several := sidecar{pod: "web-0", several: true, container: container{Name: "ullage-2\x1b"}}
	got := levelsText([]answer{{of: sidecar{pod: "web-0"}, status: admin.Status{Levels: &admin.Levels{}}}, {of: several, status: admin.Status{
		Started: noon, UptimeSeconds: 60, Levels: &admin.Levels{
			Raise: raised("annotation", "gc*=debug", 10*time.Minute), JVMs: []admin.JVM{{PID: 1, Applied: "gc*=debug", Outputs: []string{"file=\nx"}}, {PID: 2}, {PID: 3, Error: "busy"}},
			Trigger: &admin.Trigger{Conditions: "io-stall"}, Annotations: []admin.Annotation{{Key: logKey, Value: "\x1b", Problem: "no"}}, Errors: []string{"busy"},
		}}}})
	want := `log level:  the JVM's own

sidecar:     ullage-2?
log level:   gc*=debug until 12:10:00, in 9m0s: because
JVM:         pid 1 has gc*=debug on file= x
JVM:         pid 2 has its own level
trigger:     io-stall, not armed
annotation:  ullage.dev/log "\x1b": no
error:       busy
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
