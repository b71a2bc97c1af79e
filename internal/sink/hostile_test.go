package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/segment"
)

func big(n int) string { return fmt.Sprintf("[%ds][info][gc] ", n) + strings.Repeat("x", 5000) }

func (r *rig) list(stream string) []segment.Info {
	r.Helper()
	all, err := segment.List(filepath.Join(r.dest, stream))
	r.must(err)
	return all
}

// While the engine of a sink of whole segments is away, retention deletes the segment that is being
// delivered. The sink continues with the next segment.
func TestASegmentDeletedWhileItIsDelivered(t *testing.T) {
	r := newRig(t, true)
	r.engine.fails = func(b *Batch) error { // as s3 does
		f, err := os.Open(b.Segment.Path)
		if err != nil {
			return fmt.Errorf("open the segment: %w", err)
		}
		defer f.Close()
		if r.set.workers[0].state.failure == nil {
			return errors.New("away")
		}
		_, err = io.Copy(io.Discard, f)
		return err
	}
	r.commits("gc.log", big(1))
	r.waits("the first try fails", func() bool { return r.set.Status()[0].Failure != "" })
	r.commits("gc.log", big(2))
	first := r.list("gc.log")[0]
	r.must(os.Remove(first.Path))
	r.set.Deleted(first)
	r.set.Committed(nil, []string{"gc.log"})
	r.gets(1) // the second segment
}

// A file that the sink needs for each delivery, such as its credentials, is missing. This is an error
// like any other, although the error of the delivery is also that of a deleted segment.
func TestAMissingFileOfTheSinkIsNotADeletedSegment(t *testing.T) {
	r := newRig(t, true)
	r.engine.fails = func(*Batch) error {
		if r.engine.tries <= 2 {
			return fmt.Errorf("read the credentials: %w", &fs.PathError{Op: "open", Path: "/absent", Err: fs.ErrNotExist})
		}
		return nil
	}
	began := time.Now()
	r.commits("gc.log", big(1))
	r.commits("gc.log", big(2))
	r.gets(1)
	if took := time.Since(began); took < 3*firstPause {
		t.Errorf("after two failures the segment arrived within %s, want pauses of at least %s", took, 3*firstPause)
	}
	if n := testutil.ToFloat64(r.set.workers[0].metrics.errors.WithLabelValues(kindUnavailable)); n != 2 {
		t.Errorf("%v errors are counted, want 2", n)
	}
}

// Retention deletes a stream and its directory while the stream's lines wait.
func TestAStreamThatIsGone(t *testing.T) {
	r := newRig(t, false)
	r.commits("other.log", "[1s][info][gc] one")
	r.gets(1)
	r.must(os.RemoveAll(filepath.Join(r.dest, "gone.log")))
	r.set.Committed(nil, []string{"gone.log"}) // the stream is idle and forgotten
	w := r.set.workers[0]
	r.waits("the worker has looked at the stream", func() bool {
		w.state.mu.Lock()
		defer w.state.mu.Unlock()
		_, pending := w.state.pending["gone.log"]
		return !pending
	})
	if f := r.set.Status()[0].Failure; f != "" {
		t.Errorf("the sink reports the failure %s, want none", f)
	}
	r.must(r.end())
}

// The volume of the destination is away for a moment, and another directory has its path. The streams
// still exist, so the sink gets none of their lines again. The cursor of a deleted stream is forgotten.
func TestCursorsOutliveAnAbsenceOfTheDestination(t *testing.T) {
	r := newRig(t, false)
	r.commits("gc.log", "[1s][info][gc] one")
	r.commits("deleted.log", "[1s][info][gc] one")
	r.gets(2)
	r.must(r.end())
	w := r.set.workers[0]
	known := func() []string { return slices.Sorted(maps.Keys(w.state.cursors)) }
	r.must(os.Rename(r.dest, r.dest+".away"))
	r.must(os.Mkdir(r.dest, 0o755))
	w.measure()
	w.forget("gc.log")
	if got, want := known(), []string{"deleted.log", "gc.log"}; !slices.Equal(got, want) {
		t.Errorf("while the destination is away, the sink has cursors of %q, want %q", got, want)
	}
	r.must(os.Remove(r.dest))
	r.must(os.Rename(r.dest+".away", r.dest))
	r.must(os.RemoveAll(filepath.Join(r.dest, "deleted.log")))
	w.measure()
	if got, want := known(), []string{"gc.log"}; !slices.Equal(got, want) {
		t.Errorf("once the destination is back without a stream, the sink has cursors of %q, want %q", got, want)
	}
}

// A cursor that a Follower does not accept is counted as lost.
func TestAHostileCursor(t *testing.T) {
	for name, text := range map[string]string{
		"level":       `{"streams":{"gc.log":{"segment":"SEG","offset":0,"raw":0,"level":200}}}`,
		"raw":         `{"streams":{"gc.log":{"segment":"SEG","offset":0,"raw":2000000000000000000}}}`,
		"skip":        `{"streams":{"gc.log":{"segment":"SEG","offset":0,"raw":0,"skip":9000000000000000000}}}`,
		"raw+skip":    `{"streams":{"gc.log":{"segment":"SEG","offset":0,"raw":1000000000000000000,"skip":9000000000000000000}}}`,
		"deep offset": `{"streams":{"gc.log":{"segment":"SEG","offset":900000,"raw":900000}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			_ = r.end()
			r.appends("gc.log", "  a continuation", "[1s][info][gc] one")
			seg := r.list("gc.log")[0].Name
			r.must(os.MkdirAll(filepath.Join(r.dest, stateDir), 0o750))
			r.must(os.WriteFile(filepath.Join(r.dest, stateDir, "test.json"), []byte(strings.ReplaceAll(text, "SEG", seg)), 0o644))
			r.begin()
			r.commits("gc.log", "[2s][info][gc] two")
			r.gets(1)
		})
	}
}
