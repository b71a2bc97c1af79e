package ask

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/test/lab"
)

func TestAnnotationsFileOfAKubelet(t *testing.T) {
	file := `cni.projectcalico.org/podIP="10.1.2.3/32"
kubectl.kubernetes.io/last-applied-configuration="{\"metadata\":{\"annotations\":{\"ullage.dev/log\":\"all=trace\"}}}\nullage.dev/log=\"all=trace\"\n"
kubernetes.io/config.seen="2026-11-20T10:00:00.000000000Z"
ullage.dev/log="gc*=debug, safepoint=info"
ullage.dev/log-for="2m"
ullage.dev/trigger="pause>500ms"
ullage.dev/xlog="gc*=info"`
	want := Request{Log: Raise{Selection: selected(t, "gc*=debug,safepoint=info"), For: 2 * time.Minute},
		Trigger: Trigger{Pause: 500 * time.Millisecond}, TriggerLog: Raise{Selection: selected(t, defaultTriggerLog), For: 15 * time.Minute}}
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(file),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(file)),
		"error at once": iotest.DataErrReader(strings.NewReader(file)),
		"with CRLF":     strings.NewReader(strings.ReplaceAll(file, "\n", "\r\n") + "\r\n"),
	} {
		got, problems, err := ParseAnnotations(r, knownNames)
		if err != nil {
			t.Errorf("%s: got the error %v, want none", name, err)
		}
		checkRequest(t, got, problems, want)
	}
}

func TestAnnotationsFileWrittenByHand(t *testing.T) {
	gc := Request{Log: Raise{Selection: selected(t, "gc*=debug"), For: 15 * time.Minute}}
	for name, c := range map[string]struct {
		file string
		want Request
		bad  []string
	}{
		"empty":                      {"", Request{}, nil},
		"blank":                      {"\n \r\n\t\n", Request{}, nil},
		"comments and spaces":        {"# raise it\n\n  ullage.dev/log  =  \"gc*=debug\"  \n #ullage.dev/log=\"x y\"\n", gc, nil},
		"the last of two":            {"ullage.dev/log=\"all=trace\"\nullage.dev/log=\"gc*=debug\"\n", gc, nil},
		"the last, and good":         {"ullage.dev/log=all=trace\nullage.dev/log=\"gc*=debug\"\n", gc, nil},
		"the last, and bad":          {"ullage.dev/log=\"gc*=debug\"\nullage.dev/log=gc\n", Request{LogBad: true}, []string{"log"}},
		"the last, and empty":        {"ullage.dev/log=\"gc*=debug\"\nullage.dev/log=\"\"\n", Request{}, nil},
		"not quoted":                 {"ullage.dev/log=gc*=debug", Request{LogBad: true}, []string{"log"}},
		"as YAML":                    {"ullage.dev/log: \"gc*=debug\"", Request{LogBad: true}, []string{"log"}},
		"no sign":                    {"ullage.dev/log \"gc*=debug\"", Request{LogBad: true}, []string{"log"}},
		"no value":                   {"ullage.dev/log=\nullage.dev/trigger", Request{LogBad: true, TriggerBad: true}, []string{"log", "trigger"}},
		"other quotes":               {"ullage.dev/log='gc'\nullage.dev/trigger=`warning`\nullage.dev/log-for='x'", Request{LogBad: true, TriggerBad: true}, []string{"log", "log-for", "trigger"}},
		"an open quote":              {"ullage.dev/log=\"gc*=debug\nullage.dev/trigger=\"", Request{LogBad: true, TriggerBad: true}, []string{"log", "trigger"}},
		"more after it":              {"ullage.dev/log=\"gc*=debug\" # why", Request{LogBad: true}, []string{"log"}},
		"two values":                 {`ullage.dev/log="gc*=debug""gc"`, Request{LogBad: true}, []string{"log"}},
		"a bad escape":               {`ullage.dev/log="gc\q"`, Request{LogBad: true}, []string{"log"}},
		"half an escape":             {`ullage.dev/log="gc\x1"`, Request{LogBad: true}, []string{"log"}},
		"a setting, not quoted":      {"ullage.dev/xlog=gc\nullage.dev/log=\"gc*=debug\"", gc, []string{"xlog"}},
		"a NUL in the key":           {"ullage.dev/log\x00=\"gc\"", Request{LogBad: true}, []string{"log"}},
		"a NUL before the key":       {"\x00ullage.dev/log=\"gc\"", Request{}, nil},
		"not UTF-8":                  {"\xffullage.dev/log=\"gc\"\n\xfe\nullage.dev/log=\"gc*=debug\"", gc, nil},
		"not UTF-8 in the value":     {"ullage.dev/log=\"gc\xff\"", Request{LogBad: true}, []string{"log"}},
		"not UTF-8 in the key":       {"ullage.dev/l\xffg=\"gc\"", Request{}, []string{"l"}},
		"others' lines are no lines": {"a\nb=\nc=d\n=\n\"\nullage.de/log=\"gc\"\nullage.dev.x/log=\"gc\"\nullage.dev=\"gc\"\nx ullage.dev/log=\"gc\"", Request{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			parsed(t, c.file, c.want, c.bad...)
		})
	}
}

// parsed parses a file of annotations. It checks the request and which keys have problems: bad lists
// these keys without the prefix.
func parsed(t *testing.T, file string, want Request, bad ...string) []Problem {
	t.Helper()
	for i := range bad {
		bad[i] = Prefix + bad[i]
	}
	got, problems, err := ParseAnnotations(strings.NewReader(file), knownNames)
	if err != nil {
		t.Error(err)
	}
	checkRequest(t, got, problems, want, bad...)
	checkProblems(t, problems)
	return problems
}

func TestAMalformedLineIsShownWithAWayToWriteIt(t *testing.T) {
	_, problems, _ := ParseAnnotations(strings.NewReader("ullage.dev/log: \"gc*=debug\""), nil)
	want := []Problem{{"ullage.dev/log", `: "gc*=debug"`, `cannot read the line; write it like ullage.dev/log="value", with the value quoted as in Go`}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestALongLineIsSkippedOrAProblem(t *testing.T) {
	evil := "\nullage.dev/log=\"all=trace\"\n" // escaped when it is inside a value
	for name, c := range map[string]struct {
		file string
		want Request
		bad  []string
	}{
		"another's":            {lab.DownwardFile(map[string]string{"a/b": strings.Repeat("\x00", 512<<10), "a/c": strings.Repeat(evil, 10<<10)}), Request{}, nil},
		"ours":                 {lab.DownwardFile(map[string]string{Prefix + "log": strings.Repeat("\x00", 256<<10), Prefix + "xlog": strings.Repeat(evil, 1<<10)}), Request{LogBad: true}, []string{"log", "xlog"}},
		"ours, without an end": {"ullage.dev/trigger=\"" + strings.Repeat("x", maxLine), Request{TriggerBad: true}, []string{"trigger"}},
		"then a good one":      {"ullage.dev/log=\"" + strings.Repeat("x", maxLine) + "\"\nullage.dev/log=\"gc\"", Request{Log: Raise{Selection: selected(t, "gc"), For: 15 * time.Minute}}, nil},
		"only a key":           {Prefix + strings.Repeat("x", 1<<20), Request{}, []string{strings.Repeat("x", maxKey-len(Prefix))}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range parsed(t, c.file, c.want, c.bad...) {
				if p.Text != "longer than 16384 bytes; shorten the value" {
					t.Errorf(`the problem with %s is %q, want "longer than 16384 bytes; shorten the value"`, p.Key, p.Text)
				}
			}
		})
	}
}

func TestTheRestOfALongLineIsNoLine(t *testing.T) {
	// Wherever the buffer ends, the rest of the line looks like one of our annotations.
	for long := maxLine - 40; long < maxLine+40; long++ {
		file := strings.Repeat("x", long) + `ullage.dev/log="all=trace"`
		got, problems, err := ParseAnnotations(strings.NewReader(file), nil)
		if got != (Request{}) || problems != nil || err != nil {
			t.Fatalf("after %d bytes: the request is %+v, with the problems %v, error %v; want no request, no problem and no error", long, got, problems, err)
		}
	}
}

func TestTheLongestLine(t *testing.T) {
	frame := len(Prefix + `log=""`)
	for _, end := range []string{"", "\n"} {
		fits := "ullage.dev/log=\"gc" + strings.Repeat(" ", maxLine-frame-len("gc")) + `"` + end
		got, problems, err := ParseAnnotations(strings.NewReader(fits), nil)
		if err != nil {
			t.Error(err)
		}
		checkRequest(t, got, problems, Request{Log: Raise{Selection: selected(t, "gc"), For: 15 * time.Minute}})
		got, problems, err = ParseAnnotations(strings.NewReader(strings.Replace(fits, "gc", "gc ", 1)), nil)
		if err != nil {
			t.Error(err)
		}
		checkRequest(t, got, problems, Request{LogBad: true}, "ullage.dev/log")
	}
}

func TestLiveAnnotationsAreReadBehindManyOthers(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "ullage.dev/a%04d=%q\n", i, strings.Repeat("x", 100))
	}
	b.WriteString("ullage.dev/log=\"gc\"\nullage.dev/log-for=\"never\"\nullage.dev/trigger=\"warning\"\n")
	got, problems, err := ParseAnnotations(strings.NewReader(b.String()), nil)
	if err != nil || !got.LogBad || got.Trigger != (Trigger{Warning: true}) {
		t.Errorf("the request is %+v, error %v; want a bad log, the trigger %q and no error", got, err, Trigger{Warning: true})
	}
	checkProblems(t, problems)
	want := []Problem{
		{"ullage.dev/", "", "there are more than 1000 annotations with this prefix; only the first and the live ones are read"},
		{"ullage.dev/log-for", "never", "not a duration from 1s to 24h; write it like 90s, 15m or 1h30m (and 982 more annotations with problems are not listed)"},
	}
	if diff := cmp.Diff(want, []Problem{problems[0], problems[len(problems)-1]}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// repeated is an endless file that repeats a text.
type repeated struct {
	text []byte
	read int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[(r.read+i)%len(r.text)]
	}
	r.read += len(p)
	return len(p), nil
}

func TestAnEndlessFileIsBadAndTakesLittleMemory(t *testing.T) {
	for _, text := range []string{"\x00", strings.Repeat(" ", 100) + "x=\"y\"\n", "ullage.dev/log=\"gc\"" + strings.Repeat(" ", 100) + "\n", "ullage.dev/log=\"", Prefix} {
		r := &repeated{text: []byte(text)}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, problems, err := ParseAnnotations(r, nil)
		runtime.ReadMemStats(&after)
		if err != nil || got != allBad || len(problems) == 0 || problems[0].Text != "the annotations are longer than 8 MiB and are ignored; shorten them" {
			t.Errorf("%.20q: the request is %+v, with the problems %v, error %v; want %+v, a problem with the length and no error", text, got, problems, err, allBad)
		}
		if r.read > maxFile+maxLine {
			t.Errorf("%.20q: read %d bytes, want at most %d", text, r.read, maxFile+maxLine)
		}
		// TotalAlloc also includes the strings that ParseAnnotations discards at once. For our own annotations, their sum
		// is large although little memory is in use at any time.
		if strings.Contains(text, Prefix) {
			continue
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<10 {
			t.Errorf("%.20q: allocated %d bytes, want at most 256 KiB", text, grown)
		}
	}
}

func TestAFileOfTheGreatestLengthIsRead(t *testing.T) {
	last := `ullage.dev/log="gc"`
	file := append(bytes.Repeat([]byte{'#'}, maxFile-len("\n")-len(last)), "\n"+last...)
	got, problems, err := ParseAnnotations(bytes.NewReader(file), nil)
	if err != nil {
		t.Error(err)
	}
	checkRequest(t, got, problems, Request{Log: Raise{Selection: selected(t, "gc"), For: 15 * time.Minute}})
}

// allBad is the request of annotations that could not be read to their end.
var allBad = Request{LogBad: true, TriggerBad: true, AppLogBad: true, AdoptedBad: true, SaveBad: true}

func TestAFailedReadAsksForNothing(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("ullage.dev/log=\"gc\"\nullage.dev/tri"), iotest.ErrReader(broken))
	got, problems, err := ParseAnnotations(r, nil)
	if !errors.Is(err, broken) || problems != nil || got != allBad {
		t.Errorf("the request is %+v, with the problems %v, error %v; want %+v, no problem and the error %v", got, problems, err, allBad, broken)
	}
}
