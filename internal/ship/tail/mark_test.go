package tail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
)

// Each change of the source is reported with its stream.
func TestWhatHappensToTheSourceIsReported(t *testing.T) {
	var got []string
	r := connected(t, Outlets{
		Mark:   func(m mark.Mark) { got = append(got, string(m.AppendDetails([]byte(m.Kind+" ")))) },
		Opened: func(f statedir.Former) { got = append(got, "open "+string(f)) },
	})
	w := r.writer("gc.log")
	r.write(w, "one\n")
	r.read()
	rewrite(r, w, "x\n")
	r.read()
	f := r.writer("app.log")
	r.read()
	for _, n := range []int{0, 1, 2, 5} {
		r.write(f, "line\n")
		f = r.rotate(f, "app.log", fmt.Sprintf("app.log.%d", n))
		r.read()
	}
	r.put("hs_err_pid7.log", "# a report\n")
	r.read()
	r.commit()
	want := []string{"open first-start", "truncated stream=gc.log read-to=4", "archives-missed stream=app.log count=2", "crash-report stream=hs_err_pid7.log"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the marks are %q, want %q", got, want)
	}
	r.src.Close()
	got = nil
	r.open()
	if want := "[open clean-stop]"; fmt.Sprint(got) != want {
		t.Errorf("the calls are %q, want %s", got, want)
	}
}

// The file of marks is followed whatever the value of --match. It is unlinked and created
// again, since no process has it open between two marks.
func TestMarksAreAStreamOfTheSource(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Match = "gc*.log" })
	unlinked := 0
	for i := range 30 {
		m := mark.New(mark.JVMStarted, "pid", fmt.Sprint(i))
		m.Time = time.Now()
		r.put(mark.Stream, string(m.Append(nil)))
		if i%3 == 0 {
			r.read()
			r.commit()
			for range 3 {
				r.settleAll()
			}
			if len(r.names()) == 0 {
				unlinked++
			}
		}
	}
	r.read()
	lines := strings.Split(strings.TrimSuffix(r.got[mark.Stream].String(), "\n"), "\n")
	if len(lines) != 30 || unlinked == 0 {
		t.Fatalf("%d marks were read, and the file was unlinked %d times; want 30, and at least once", len(lines), unlinked)
	}
	for i, line := range lines {
		if m, ok := mark.Parse([]byte(line)); !ok || m.Get("pid") != fmt.Sprint(i) {
			t.Errorf("mark %d is %q, want pid=%d", i, line, i)
		}
	}
}
