package ship

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/summary"
)

// sums makes the bench collect what is handed over, by stream and segment.
func (b *bench) sums() map[string]summary.Segment {
	got := map[string]summary.Segment{}
	b.to.Followers.OnSeal = func(stream, name string, sum summary.Segment) { got[filepath.Join(stream, name)] = sum }
	return got
}

// agree compares the sums with the segments, which it reads.
func (b *bench) agree(sums map[string]summary.Segment) {
	b.t.Helper()
	for name, sum := range sums {
		path := filepath.Join(b.cfg.Dest, name)
		file, err := os.ReadFile(path)
		b.must(err)
		r, err := segment.OpenReader(path)
		b.must(err)
		var want summary.Sum
		var class ul.Classifier
		for {
			raw, err := r.Next()
			if err != nil {
				break
			}
			want.Frame(raw)
			for text := range strings.Lines(string(raw)) {
				want.Lines[class.Classify([]byte(strings.TrimSuffix(text, "\n"))).Level]++
			}
		}
		b.must(r.Close())
		if sum.Sum != want || sum.Size != int64(len(file)) || sum.CRC != crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli)) {
			b.t.Errorf("%s: the sum is\n%+v\nwant\n%+v, of %d bytes", name, sum, want, len(file))
		}
	}
}

func TestASealedSegmentIsSummedUp(t *testing.T) {
	b := newBench(t)
	got := b.sums()
	b.cfg.Segment.SegmentBytes = 1
	s, from := b.begun(true)
	s.begins(t, from)
	w, other := b.log("gc.log"), b.log("other.log")
	for n := range 3 {
		text := time.Unix(int64(1_800_000_000+n), 0).UTC().Format("[2006-01-02T15:04:05.000-0700]") + "[warning][gc] x\n  more\n"
		b.write(w, text+"[1s][info][gc] undated\n")
		b.write(other, strings.Repeat("[1s][debug][gc] x\n", 1000))
		b.reads(s)
		s.appends(t)
		b.commits(s)
	}
	if len(got) != 6 {
		t.Errorf("%d segments were summed up, want 6", len(got))
	}
	b.agree(got)
}

// What is left at the end is sealed then, and what an earlier process began is not known.
func TestOnlyAWholeSegmentIsSummedUp(t *testing.T) {
	b := newBench(t)
	got := b.sums()
	w := b.log("gc.log")
	b.write(w, lines(0, 100))
	s, from := b.begun(true)
	s.begins(t, from)
	b.reads(s)
	s.appends(t)
	b.commits(s)
	s.killed()

	b.to.Followers.SealAtEnd = true
	s, from = b.begun(true)
	s.begins(t, from)
	b.write(w, lines(100, 200))
	b.reads(s)
	s.appends(t)
	b.must(s.writer.drain(t.Context()))
	if len(got) > 0 {
		t.Errorf("a segment of two processes was summed up: %+v", got)
	}
	b.write(w, lines(200, 300))
	b.reads(s)
	s.appends(t)
	b.must(s.writer.drain(t.Context()))
	if len(got) != 1 {
		t.Errorf("%d segments were summed up, want 1", len(got))
	}
	b.agree(got)
}

// An error of the destination cuts a segment that is not committed off, and its sum.
func TestAnAbandonedSegmentIsNotSummedUp(t *testing.T) {
	b := newBench(t)
	got := b.sums()
	b.cfg.Segment.SegmentBytes = 1
	s, from := b.begun(true)
	s.begins(t, from)
	w := b.log("gc.log")
	b.write(w, lines(0, 10))
	b.reads(s)
	s.appends(t)
	s.writer.destinationFailed(os.ErrDeadlineExceeded, time.Second)
	for _, st := range s.writer.streams {
		b.must(s.writer.resume(st))
		st.forget()
	}
	s.writer.taken.forget()
	b.write(w, lines(10, 20))
	b.reads(s)
	s.appends(t)
	b.commits(s)
	b.agree(got)
	if len(got) != 1 {
		t.Errorf("%d segments were summed up, want 1", len(got))
	}
}
