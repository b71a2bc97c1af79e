package ask

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

var knownNames = []string{"container", "xlog", "segment-bytes"}

func selected(t testing.TB, text string) Selection {
	t.Helper()
	s, err := ParseSelection(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkRequest compares a request with the wanted one, and the keys of the problems with the wanted
// keys.
func checkRequest(t *testing.T, got Request, problems []Problem, want Request, keys ...string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var bad []string
	for _, p := range problems {
		bad = append(bad, p.Key)
	}
	if diff := cmp.Diff(keys, bad, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("keys with problems: (-want +got)\n%s%v", diff, problems)
	}
}

func TestWhatAnnotationsAskFor(t *testing.T) {
	type values map[string]string
	gc, both := selected(t, "gc*=debug"), selected(t, "gc*=debug,safepoint*=debug")
	dropped := Trigger{Dropped: true}
	for name, c := range map[string]struct {
		values values
		want   Request
		bad    []string
	}{
		"nothing":          {},
		"a selection":      {values{"log": "gc*=debug"}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute}}, nil},
		"for a while":      {values{"log": " GC*=debug ", "log-for": " 1h30m "}, Request{Log: Raise{Selection: gc, For: 90 * time.Minute}}, nil},
		"for the shortest": {values{"log": "gc*=debug", "log-for": "1s"}, Request{Log: Raise{Selection: gc, For: time.Second}}, nil},
		"for the longest":  {values{"log": "gc*=debug", "log-for": "24h"}, Request{Log: Raise{Selection: gc, For: MaxRaise}}, nil},
		"with an ID":       {values{"log": "gc*=debug", "log-id": " a-B_c/d.9 "}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute, ID: "a-B_c/d.9"}}, nil},
		"a bad ID":         {values{"log": "gc*=debug", "log-id": "a b"}, Request{LogBad: true}, []string{"log-id"}},
		"a long ID":        {values{"log": "gc*=debug", "log-id": strings.Repeat("a", MaxID+1)}, Request{LogBad: true}, []string{"log-id"}},
		"of a stream":      {values{"log": "gc*=debug", "log-stream": " gc-*.log "}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute, Stream: "gc-*.log"}}, nil},
		"of no stream":     {values{"log": "gc*=debug", "log-stream": "../gc.log"}, Request{LogBad: true}, []string{"log-stream"}},
		"a stream alone":   {values{"log-stream": "gc.log"}, Request{}, nil},
		"of events":        {values{"app-log": "debug"}, Request{AppLog: loggers.Of(ul.Debug), AppLogFor: 15 * time.Minute}, nil},
		"of some events":   {values{"app-log": " WARN ", "app-log-for": "10m"}, Request{AppLog: loggers.Of(ul.Warning), AppLogFor: 10 * time.Minute}, nil},
		"of loggers":       {values{"app-log": "com.example=debug, org.h.SQL=TRACE"}, Request{AppLog: loggersOf(t, "com.example=debug,org.h.SQL=trace"), AppLogFor: 15 * time.Minute}, nil},
		"events again":     {values{"app-log": "debug", "app-log-id": "a1"}, Request{AppLog: loggers.Of(ul.Debug), AppLogFor: 15 * time.Minute, AppLogID: "a1"}, nil},
		"of a bad ID":      {values{"app-log": "debug", "app-log-id": "a b"}, Request{AppLogBad: true}, []string{"app-log-id"}},
		"of no level":      {values{"app-log": "com.example=loud"}, Request{AppLogBad: true}, []string{"app-log"}},
		"of any level":     {values{"app-log": "unknown"}, Request{AppLogBad: true}, []string{"app-log"}},
		"events too long":  {values{"app-log": "debug", "app-log-for": "25h"}, Request{AppLogBad: true}, []string{"app-log-for"}},
		"a length alone":   {values{"app-log-for": "1m"}, Request{}, nil},
		"an ID alone":      {values{"log-id": "a"}, Request{}, nil},
		"a trigger":        {values{"trigger": "dropped"}, Request{Trigger: dropped, TriggerLog: Raise{Selection: both, For: 15 * time.Minute}}, nil},
		"all of a trigger": {values{"trigger": "dropped", "trigger-log": "gc*=debug", "trigger-for": "2m"},
			Request{Trigger: dropped, TriggerLog: Raise{Selection: gc, For: 2 * time.Minute}}, nil},
		"both": {values{"log": "gc*=debug", "log-for": "1m", "trigger": "dropped"},
			Request{Log: Raise{Selection: gc, For: time.Minute}, Trigger: dropped, TriggerLog: Raise{Selection: both, For: 15 * time.Minute}}, nil},
		"empty values are none":           {values{"log": "", "log-for": "", "trigger": " ", "trigger-log": "", "trigger-for": ""}, Request{}, nil},
		"an empty length is the default":  {values{"log": "gc*=debug", "log-for": ""}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute}}, nil},
		"companions alone ask nothing":    {values{"log-for": "1m", "trigger-log": "gc*=debug", "trigger-for": "1m"}, Request{}, nil},
		"but are bad nevertheless":        {values{"log-for": "1", "trigger-log": "gc*=loud"}, Request{LogBad: true, TriggerBad: true}, []string{"log-for", "trigger-log"}},
		"other settings are none of ours": {values{"container": "app", "xlog": "\x00", "segment-bytes": ""}, Request{}, nil},
		"a bad log leaves the trigger":    {values{"log": "all=off\n", "trigger": "dropped"}, Request{LogBad: true, Trigger: dropped, TriggerLog: Raise{Selection: both, For: 15 * time.Minute}}, []string{"log"}},
		"a bad trigger leaves the log":    {values{"log": "gc*=debug", "trigger": "often"}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute}, TriggerBad: true}, []string{"trigger"}},
		"a bad length spoils its group":   {values{"log": "gc*=debug", "log-for": "0s"}, Request{LogBad: true}, []string{"log-for"}},
		"too long":                        {values{"log": "gc*=debug", "log-for": "24h1ns"}, Request{LogBad: true}, []string{"log-for"}},
		"all bad": {values{"log": "a b", "log-for": "1w", "trigger": ",", "trigger-log": "=", "trigger-for": "-1s", "x": ""},
			Request{LogBad: true, TriggerBad: true}, []string{"log", "log-for", "trigger", "trigger-for", "trigger-log", "x"}},
		"an unknown key spoils nothing": {values{"log": "gc*=debug", "logfor": "1m"}, Request{Log: Raise{Selection: gc, For: 15 * time.Minute}}, []string{"logfor"}},
	} {
		t.Run(name, func(t *testing.T) {
			// Annotations of other projects change nothing.
			annotations := map[string]string{"kubernetes.io/log": "x", "ullage.dev": "x", "log": "x", "": "x"}
			for k, v := range c.values {
				annotations[Prefix+k] = v
			}
			for i := range c.bad {
				c.bad[i] = Prefix + c.bad[i]
			}
			got, problems := ParseRequest(annotations, knownNames)
			checkRequest(t, got, problems, c.want, c.bad...)
			got, problems, err := ParseAnnotations(strings.NewReader(lab.DownwardFile(annotations)), knownNames)
			checkRequest(t, got, problems, c.want, c.bad...)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProblemsSayHowToWriteIt(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, c := range []struct {
		name, value string
		want        Problem
	}{
		{"triger-log", "gc*=debug", Problem{"ullage.dev/triger-log", "gc*=debug", `unknown annotation; did you mean "ullage.dev/trigger-log"?`}},
		{"segment_bytes", "1Gi", Problem{"ullage.dev/segment_bytes", "1Gi", `unknown annotation; did you mean "ullage.dev/segment-bytes"?`}},
		{"colour", "", Problem{"ullage.dev/colour", "", "unknown annotation"}},
		{"", "x", Problem{"ullage.dev/", "x", "unknown annotation"}},
		{"a\nb", "a\n\x00\t\x1b[31m\u202e\xff\\", Problem{`ullage.dev/a\nb`, `a\n\x00\t\x1b[31m\u202e�\`, "unknown annotation"}},
		{"long", long, Problem{"ullage.dev/long", strings.Repeat("é", 30) + "…", `unknown annotation; did you mean "ullage.dev/log"?`}},
		{"log-for", "15", Problem{"ullage.dev/log-for", "15", "not a duration from 1s to 24h; write it like 90s, 15m or 1h30m"}},
		{"trigger", "warnings", Problem{"ullage.dev/trigger", "warnings",
			`"warnings" is not a condition; did you mean "warning"? (use pause>500ms, io-stall, dropped, warning, or several of them separated by commas)`}},
	} {
		_, problems := ParseRequest(map[string]string{Prefix + c.name: c.value}, knownNames)
		if diff := cmp.Diff([]Problem{c.want}, problems); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", c.name, diff)
		}
	}
}

// hostileSelections are attempts to pass the JVM something other than a selection.
var hostileSelections = []string{
	`gc*=debug" output=/etc/passwd`,
	"gc*=debug output=/etc/passwd",
	"gc*=debug\nVM.log disable",
	"gc*=debug\x00VM.log disable",
	"gc*=debug' '",
	"\xff\xfe",
	strings.Repeat("gc*=debug,", 1000) + "gc",
	strings.Repeat("\x00", 256<<10),
}

func TestNoSelectionGetsThroughThatIsNone(t *testing.T) {
	for _, value := range hostileSelections {
		got, problems := ParseRequest(map[string]string{Prefix + "log": value, Prefix + "trigger": "warning", Prefix + "trigger-log": value}, nil)
		checkRequest(t, got, problems, Request{LogBad: true, TriggerBad: true}, "ullage.dev/log", "ullage.dev/trigger-log")
		checkProblems(t, problems)
	}
}

// checkProblems checks that the problems are as their documentation promises.
func checkProblems(t *testing.T, problems []Problem) {
	t.Helper()
	if len(problems) > maxProblems || !slices.IsSortedFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("got %d problems: %v; want at most %d, in the order of their keys", len(problems), problems, maxProblems)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Key, Prefix) || len(p.Key) > maxKey || len(p.Value) > maxValue || p.Text == "" || len(p.Text) > maxText+100 {
			t.Errorf("got the problem %+v, want a key that begins with %q and has at most %d bytes, a value of at most %d bytes, and a text of 1 to %d", p, Prefix, maxKey, maxValue, maxText+100)
		}
		if all := p.Key + p.Value + p.Text; printable.Escaped(all, len(all)) != all {
			t.Errorf("a problem is not printable: %q", all)
		}
	}
}

func TestOfManyProblemsTheLiveOnesAreListed(t *testing.T) {
	annotations := map[string]string{Prefix + "log": "gc=loud", Prefix + "trigger-for": "long", Prefix + "trigger": "warning"}
	for i := range 5000 {
		annotations[fmt.Sprintf("%sa%04d", Prefix, i)] = "x"
	}
	got, problems := ParseRequest(annotations, nil)
	var want []string
	for i := range 18 {
		want = append(want, fmt.Sprintf("%sa%04d", Prefix, i))
	}
	checkRequest(t, got, problems, Request{LogBad: true, TriggerBad: true}, append(want, "ullage.dev/log", "ullage.dev/trigger-for")...)
	checkProblems(t, problems)
	if last := problems[len(problems)-1].Text; !strings.HasSuffix(last, "(and 4982 more annotations with problems are not listed)") {
		t.Errorf(`the last problem says %q, want "(and 4982 more annotations with problems are not listed)" at its end`, last)
	}
}

func TestExactlyTwentyProblemsHideNone(t *testing.T) {
	annotations := map[string]string{}
	for i := range maxProblems {
		annotations[fmt.Sprintf("%sa%04d", Prefix, i)] = "x"
	}
	_, problems := ParseRequest(annotations, nil)
	if len(problems) != maxProblems || problems[maxProblems-1].Text != "unknown annotation" {
		t.Errorf("there are %d problems, the last is %v; want %d problems, the last an unknown annotation", len(problems), problems[len(problems)-1], maxProblems)
	}
}

func TestWhatAPodSaysOfItsAdoption(t *testing.T) {
	for value, want := range map[string]Request{
		"":                  {},
		"off":               {SaysAdopted: true},
		" gc*=debug ":       {SaysAdopted: true, Adopted: selectionOf(t, "gc*=debug")},
		"gc*=loud":          {AdoptedBad: true},
		"gc=info,all=off":   {AdoptedBad: true},
		"gc=info\nVM.log=x": {AdoptedBad: true},
	} {
		req, problems := ParseRequest(map[string]string{Prefix + Adopt: value}, nil)
		if req != want || (len(problems) == 1) != want.AdoptedBad {
			t.Errorf("%q: the request is %+v, with the problems %v; want %+v", value, req, problems, want)
		}
	}
}

func selectionOf(t *testing.T, text string) Selection {
	t.Helper()
	s, err := ParseSelection(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loggersOf(t *testing.T, text string) loggers.Levels {
	t.Helper()
	l, err := loggers.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
