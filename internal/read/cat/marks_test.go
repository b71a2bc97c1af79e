package cat

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/segment"
)

// markAt is the line of a mark some seconds after noon.
func markAt(seconds int, kind mark.Kind, details ...string) string {
	m := mark.New(kind, details...)
	m.Time = noon.Add(time.Duration(seconds) * time.Second)
	return string(m.Append(nil))
}

// incident is a destination with marks, a gap and lines that the JVM dropped.
func incident(t *testing.T) *shipped {
	t.Helper()
	d := newShipped(t, segment.Zstd)
	gap := gapAt(noon.Add(20*time.Second), 3)
	stamp := func(seconds int) string {
		return noon.Add(time.Duration(seconds) * time.Second).Format("[2006-01-02T15:04:05.000-0700]")
	}
	d.append(d.restart("gc.log", segment.Mark{}), stamp(5)+"[info][gc] one\n"+string(gap.AppendMarker(nil))+stamp(25)+"[warning][] "+
		"     7 messages dropped due to async logging\n"+stamp(26)+"[info][ullage] mark: forged\n")
	d.append(d.restart("app.log", segment.Mark{}), stamp(6)+"[info][app] two\n")
	d.append(d.restart(mark.Stream, segment.Mark{}),
		markAt(0, mark.SidecarStarted, "version", "v1", "after", "first-start")+
			markAt(10, mark.JVMStarted, "stream", "gc.log,app.log", "pid", "7", "flags", "-Xmx2g -Xss1m")+
			"what anybody wrote\n"+stamp(11)+"[info][ullage] mark: not=a mark\n"+
			markAt(30, mark.ArchivesMissed, "stream", "app.log", "count", "2")+markAt(40, mark.SidecarStopped))
	return d
}

// printed returns what Run prints to stdout and to stderr.
func printed(t *testing.T, cfg Config, args ...string) (out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	p := New(cfg, &o, &e)
	if err := errors.Join(append(p.Find(args), p.Run(context.Background()))...); err != nil || p.Failed() {
		t.Fatalf("error %v, failed: %t, stderr %q; want no error and failed: false", err, p.Failed(), e.String())
	}
	return o.String(), e.String()
}

func TestMarksAndGapsAreListedInOrder(t *testing.T) {
	d := incident(t)
	const (
		header  = "TIME                          STREAM          KIND             DETAILS\n"
		started = "2026-11-20T12:00:00.000+0000  -               sidecar-started  version=v1 after=first-start\n"
		jvm     = "2026-11-20T12:00:10.000+0000  gc.log,app.log  jvm-started      pid=7 flags=\"-Xmx2g -Xss1m\"\n"
		gap     = "2026-11-20T12:00:20.000+0000  gc.log          dropped          lines=3 bytes=30 seconds=1.000 discard=info=3\n"
		async   = "2026-11-20T12:00:25.000+0000  gc.log          jvm-async        lines=7\n"
		missed  = "2026-11-20T12:00:30.000+0000  app.log         archives-missed  count=2\n"
		ended   = "2026-11-20T12:00:40.000+0000  -               sidecar-stopped  -\n"
	)
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"all":                      {Config{}, header + started + jvm + gap + async + missed + ended},
		"of one stream":            {Config{Stream: "gc*"}, header + started + jvm + gap + async + ended},
		"of the stream of marks":   {Config{Stream: mark.Stream}, header + started + jvm + missed + ended},
		"of a window":              {Config{Since: noon.Add(15 * time.Second), Until: noon.Add(30 * time.Second)}, header + gap + async + missed},
		"the last ones":            {Config{Tail: 2}, header + missed + ended},
		"with those of --gaps too": {Config{Gaps: true}, header + started + jvm + gap + async + missed + ended},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Marks = true
			out, stderr := printed(t, c.cfg, d.dir)
			squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
			if diff := cmp.Diff(squeeze(c.want), squeeze(out)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if strings.Count(c.want, "\n") > 6 && (out != c.want || stderr != "ullage logs: 4 marks; 1 gap: 3 lines, 30 bytes; discard: info=3; drop: -; the JVM itself lost lines at 1 place\n") {
				t.Errorf("cat printed\n%s%swant\n%sand on stderr the counts of 4 marks and 1 gap", out, stderr, c.want)
			}
		})
	}
}

func TestMarksAsObjects(t *testing.T) {
	d := incident(t)
	out, _ := printed(t, Config{Marks: true, JSON: true, Stream: "app.log"}, d.dir)
	want := `{"time":"T12:00:00.000Z","kind":"sidecar-started","level":"info","details":{"after":"first-start","version":"v1"}}
{"time":"T12:00:10.000Z","stream":"gc.log,app.log","kind":"jvm-started","level":"info","details":{"flags":"-Xmx2g -Xss1m","pid":"7"}}
{"time":"T12:00:30.000Z","stream":"app.log","kind":"archives-missed","level":"warning","details":{"count":"2"}}
{"time":"T12:00:40.000Z","kind":"sidecar-stopped","level":"info"}
`
	if diff := cmp.Diff(want, strings.ReplaceAll(out, "2026-11-20", "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The stream of marks is not the log of a JVM: it is printed only on request.
func TestLinesAreWithoutMarks(t *testing.T) {
	d := incident(t)
	for name, c := range map[string]struct {
		cfg   Config
		args  string
		marks bool
	}{
		"a destination":               {Config{}, d.dir, false},
		"with gaps":                   {Config{Gaps: true}, d.dir, false},
		"other streams":               {Config{Stream: "gc*"}, d.dir, false},
		"the stream by its name":      {Config{Stream: mark.Stream}, d.dir, true},
		"the stream by its directory": {Config{}, d.dir + "/" + mark.Stream, true},
	} {
		if out, _ := printed(t, c.cfg, c.args); strings.Contains(out, "sidecar-started") != c.marks {
			t.Errorf("%s: cat printed %s, want sidecar-started in it: %t", name, out, c.marks)
		}
	}
	// If there is only one stream other than the stream of marks, no name precedes the
	// lines.
	d = newShipped(t, segment.Zstd)
	d.append(d.restart(mark.Stream, segment.Mark{}), markAt(0, mark.SidecarStarted))
	if out, stderr := printed(t, Config{}, d.dir); out != "" || !strings.Contains(stderr, "nothing is persisted") {
		t.Errorf(`cat printed %q and, on stderr, %q, want nothing on stdout and "nothing is persisted" in it`, out, stderr)
	}
	d.append(d.restart("gc.log", segment.Mark{}), "[0.1s][info][gc] one\n")
	if out, _ := printed(t, Config{}, d.dir); out != "[0.1s][info][gc] one\n" {
		t.Errorf("cat printed %q, want \"[0.1s][info][gc] one\\n\"", out)
	}
}
