package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/ship/position"
)

// reopen opens the source again with the positions of a checkpoint.
func (r *rig) reopen(saved map[position.Content]position.Saved) {
	r.t.Helper()
	r.src.Close()
	r.open()
	r.src.Start.Restore(saved, false)
	if _, err := r.src.Scanner.Scan(); err != nil {
		r.t.Fatal(err)
	}
}

const innocent = "[1.000s][info][gc] innocent\n"

// abandons are the cases in which the rest of a line over the limit never arrives.
var abandons = []struct {
	name    string
	abandon func(r *rig, f *os.File)
}{
	{"by a truncation", func(r *rig, f *os.File) {
		f.Truncate(0)
		r.write(f, innocent)
	}},
	{"by a truncation and a rotation", func(r *rig, f *os.File) {
		f.Truncate(0)
		r.read()
		r.write(r.rotate(f, "gc.log", "gc.log.0"), innocent)
	}},
	{"by a truncation that is not persisted before a rewind", func(r *rig, f *os.File) {
		f.Truncate(0)
		r.write(f, innocent)
		kept := r.got["gc.log"].String()
		r.read()
		r.got["gc.log"].Reset()
		r.got["gc.log"].WriteString(kept)
		r.src.Start.Rewind()
	}},
	{"by a truncation, a removal, and two kills", func(r *rig, f *os.File) {
		f.Truncate(0)
		f.Close()
		for range 3 {
			r.read()
			r.commit()
		}
		os.Remove(r.path("gc.log"))
		saved := r.src.Start.Positions()
		for range 2 {
			r.reopen(saved)
			saved = r.src.Start.Positions()
		}
		r.put("gc.log", innocent)
	}},
	{"by a truncation while no sidecar ran", func(r *rig, f *os.File) {
		saved := r.src.Start.Positions()
		f.Truncate(0)
		r.write(f, innocent)
		for range 2 {
			r.reopen(saved)
			saved = r.src.Start.Positions()
		}
	}},
	{"by a removal while no sidecar ran", func(r *rig, f *os.File) {
		saved := r.src.Start.Positions()
		os.Remove(r.path("gc.log"))
		for range 2 {
			r.reopen(saved)
			saved = r.src.Start.Positions()
		}
		r.put("gc.log", innocent)
	}},
	{"by the loss of checkpoint and file", func(r *rig, f *os.File) {
		os.Remove(r.path("gc.log"))
		r.put("gc.log", innocent)
		r.src.Close()
		r.open()
		r.src.Start.Restore(nil, true)
		r.src.Scanner.Scan()
		r.src.Start.Rewind()
		if _, err := r.src.Start.Align("gc.log", []byte("yyyyyy")); err != nil {
			r.t.Fatal(err)
		}
	}},
}

func TestOpenLongLineThatIsAbandonedIsEnded(t *testing.T) {
	for _, c := range abandons {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			long := strings.Repeat("y", r.cfg.LineLimit+100)
			r.write(f, long)
			r.read()
			handedOn := r.got["gc.log"].Len()
			if handedOn < r.cfg.LineLimit {
				t.Fatalf("%d bytes were handed on, want at least %d", handedOn, r.cfg.LineLimit)
			}
			r.commit()
			c.abandon(r, f)
			r.read()
			want := long[:handedOn] + "\n" + innocent
			r.want("gc.log", want)
			r.commit()
			r.src.Start.Rewind()
			r.read()
			r.want("gc.log", want)
			saved := r.src.Start.Positions()
			r.reopen(saved)
			r.write(r.writer("gc.log"), "next\n")
			r.read()
			r.want("gc.log", want+"next\n")
			for of, p := range r.src.Start.Positions() {
				if p.Open {
					t.Errorf("the line of %+v is still open", of)
				}
			}
		})
	}
}

func TestEndOfAnAbandonedLineIsCountedOnce(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "[0.1s][debug][gc] "+strings.Repeat("y", r.cfg.LineLimit))
	r.read()
	f.Truncate(0)
	r.write(f, innocent)
	r.read()
	r.src.Start.Rewind()
	r.read()
	for level, want := range map[string]float64{"debug": 1, "info": 1} {
		if got := testutil.ToFloat64(r.src.env.metrics.readLines.WithLabelValues("gc.log", level)); got != want {
			t.Errorf("%v lines of level %s were counted, want %v", got, level, want)
		}
	}
}

func TestOpenLongLineGoesOnAfterARestartAndARewind(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	long := strings.Repeat("y", 3*r.cfg.LineLimit)
	r.write(f, long)
	r.read()
	r.commit()
	r.reopen(r.src.Start.Positions())
	r.write(f, "end\n"+innocent)
	r.read()
	r.want("gc.log", long+"end\n"+innocent)
}

// The persisted copies of two streams end in open lines, and no file has the rest of either
// line. A kill after that must not make one of the streams forget its open line.
func TestOpenLinesOfNoFileAreKeptForEachStream(t *testing.T) {
	r := newRig(t)
	streams := []string{"a.log", "b.log"}
	for _, name := range streams {
		if found, err := r.src.Start.Align(name, []byte("begun")); found || err != nil {
			t.Fatalf("Align returned %v, %v; want false and no error", found, err)
		}
	}
	r.reopen(r.src.Start.Positions())
	for _, name := range streams {
		r.put(name, innocent)
	}
	r.read()
	for _, name := range streams {
		r.want(name, "\n"+innocent)
	}
}
