package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/report/view"
)

// arguments-jdk25.log is from JDK 25.0.3 with -Xlog:arguments,gc,gc+init,safepoint. Two JVMs
// wrote to it: first one with -Xmx64m, then one with -Xmx128m.
const (
	firstFlags  = "-Xms32m -Xmx64m -Xss1m -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError"
	secondFlags = "-Xms32m -Xmx128m -XX:+UseSerialGC"
)

func TestARunHasTheFlagsThatItsJVMLogged(t *testing.T) {
	r := reportOn(t, Config{}, "testdata/arguments-jdk25.log")
	if len(r.Runs) != 2 || r.Runs[0].Flags != firstFlags || r.Runs[1].Flags != secondFlags {
		t.Fatalf("the runs are %+v, want two, with the flags %q and %q", r.Runs, firstFlags, secondFlags)
	}
	var page, text, object bytes.Buffer
	if err := errors.Join(view.HTML(&page, r), view.Text(&text, view.Style{}, r), view.JSON(&object, r)); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{
		page.String():   "<details><summary>flags</summary><ul><li>-Xms32m</li><li>-Xmx64m</li>",
		text.String():   "\nFlags of JVMs\narguments-jdk25.log, run 1: " + firstFlags + "\narguments-jdk25.log, run 2: " + secondFlags + "\n",
		object.String(): `"flags": "` + secondFlags + `"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
		if strings.Contains(out, "secret") || strings.Contains(out, "gdb") {
			t.Errorf("want no argument that may be a secret: %s", out)
		}
	}
}

func TestBadCommandLinesOfALog(t *testing.T) {
	args := func(text string) string { return decorated(0, "arguments", "jvm_args: "+text) }
	begin := decorated(0, "gc", "Using G1")
	for name, test := range map[string]struct{ log, want string }{
		"control characters":                {args("-Xmx1g\x1b[2J -XX:Name=\u202eevil\xff") + begin + young(0, 1, 1), `-Xmx1g\x1b[2J -XX:Name=\u202eevil` + "\ufffd"},
		"too long":                          {args("-Xmx1g"+strings.Repeat(" -Xss1m", 1000)) + begin + young(0, 1, 1), "-Xmx1g" + strings.Repeat(" -Xss1m", 145) + "…"},
		"longer than the part that is read": {args("-Dx="+strings.Repeat("x", cut.HeadBytes)+" -Xmx1g") + begin + young(0, 1, 1), ""},
		"cut":                               {begin + young(0, 1, 1) + strings.TrimSuffix(args("-Xmx12"), "\n"), ""},
		"by another logger":                 {decorated(0, "gc", "jvm_args: -Xmx1g") + begin + young(0, 1, 1), ""},
		"without a flag":                    {args("-Da=b -cp x") + begin + young(0, 1, 1), ""},
		"of a JVM that logs no more":        {args("-Xmx1g") + begin + young(0, 1, 1) + args("-Xmx2g"), "-Xmx1g"},
		"of a JVM without a stop":           {args("-Xmx1g") + begin, "-Xmx1g"},
		"after a line that has a time":      {decorated(0, "os", "x") + args("-Xmx1g") + begin + young(0, 1, 1), "-Xmx1g"},
	} {
		r := reportOn(t, Config{}, write(t, "gc.log", test.log))
		if got := r.Runs[0].Flags; len(r.Runs) != 1 || got != test.want {
			t.Errorf("%s: %d runs, flags %q, want %q", name, len(r.Runs), got, test.want)
		}
	}
}

func TestARunOfTwoJVMsHasNoFlags(t *testing.T) {
	log := decorated(0, "arguments", "jvm_args: -Xmx1g")
	for i := range 20 {
		log += young(i, float64(i+1), 2) + young(i, float64(i+1), 3)
	}
	if r := reportOn(t, Config{}, write(t, "gc.log", log)); !has(r, "mixed") || r.Runs[0].Flags != "" {
		t.Errorf("the runs are %+v, the problems %+v; want no flags in the first run, and a problem mixed", r.Runs, r.Problems)
	}
}

// jvmMark is the mark of a JVM that started at the given second after ten o'clock. The mark
// was written when the JVM had run for 3 s.
func jvmMark(second float64, stream string, fields ...string) string {
	m := mark.New(mark.JVMStarted, append([]string{"stream", stream, "pid", "7", "uptime", "3s"}, fields...)...)
	m.Time = time.Date(2026, 11, 20, 10, 0, 3, 0, time.UTC).Add(time.Duration(second * 1e9))
	return string(m.Append(nil))
}

func TestAMarkCompletesTheRunOfItsJVM(t *testing.T) {
	var log strings.Builder
	for _, started := range []int{0, 100, 200} {
		for gc := range 3 {
			up := 1 + 4*gc
			log.WriteString(strings.Replace(young(gc, float64(started+up), 2), fmt.Sprintf("[%d.000s]", started+up), fmt.Sprintf("[%d.000s]", up), 1))
		}
	}
	dest := t.TempDir()
	persist(t, dest, "gc.log", log.String())
	persist(t, dest, "own.log", decorated(0, "arguments", "jvm_args: -Xmx8g")+decorated(0, "gc", "Using Serial")+young(0, 1, 2))
	persist(t, dest, mark.Stream, jvmMark(0.1, "gc.log,own.log", "version", "17.0.15+6", "collector", "G1", "flags", "-Xmx1g")+
		jvmMark(100.2, "gc.log", "flags", "-Xmx2g -Xss1m")+
		jvmMark(101.9, "gc.log", "flags", "-Xmx3g")+
		jvmMark(150, "gc.log", "flags", "-Xmx4g"))
	for name, cfg := range map[string]Config{"all": {}, "a window": {Since: at(t, "2026-11-20T10:00:00.5Z"), Until: at(t, "2026-11-20T10:10:00Z")}} {
		r := reportOn(t, cfg, dest)
		var got []string
		for _, run := range r.Runs {
			got = append(got, strings.Join([]string{run.Stream, run.Collector, run.Version, run.Flags}, "|"))
		}
		want := []string{"gc.log|G1|17.0.15+6|-Xmx1g", "gc.log|G1||-Xmx2g -Xss1m", "gc.log|G1||", "own.log|Serial|17.0.15+6|-Xmx8g"}
		if name == "a window" {
			want[3] = "own.log|G1|17.0.15+6|-Xmx1g" // the lines with its own properties are before the window
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
