package ship

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
)

// agree reads the segments that have a sum and compares the sum with the content. It returns
// the number of these segments.
func (b *bench) agree() (n int) {
	b.t.Helper()
	streams, err := segment.Streams(b.cfg.Dest)
	b.must(err)
	for _, stream := range streams {
		dir := filepath.Join(b.cfg.Dest, stream)
		sums := index.Read(dir)
		segs, err := segment.List(dir)
		b.must(err)
		for _, seg := range segs {
			file, err := segment.OpenFile(seg)
			b.must(err)
			if sum, ok := sums.Of(seg.Seq, seg.Start, file); ok && sum.Size == seg.Size {
				n++
				agreeOn(b, seg, sum)
			}
			b.must(file.Close())
		}
	}
	return n
}

func agreeOn(b *bench, seg segment.Info, sum index.Segment) {
	b.t.Helper()
	file, err := os.ReadFile(seg.Path)
	b.must(err)
	r, err := segment.OpenListed(seg)
	b.must(err)
	defer r.Close()
	var want index.Sum
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
	if sum.Sum != want || sum.Size != int64(len(file)) || sum.CRC != crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli)) {
		b.t.Errorf("%s: the sum is\n%+v\nwant\n%+v, of %d bytes", seg.Path, sum, want, len(file))
	}
}

// many returns lines that take more than 16 KiB on a disk.
func many(seed int) string {
	var s strings.Builder
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	for i := range 1000 {
		fmt.Fprintf(&s, "[%d.%03ds][info ][gc,heap] line %x%x\n", i/1000, i%1000, r.Uint64(), r.Uint64())
	}
	return s.String()
}

func TestASealedSegmentIsSummedUp(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.SegmentBytes = 1
	s, from := b.begun(true)
	s.begins(t, from)
	w, other := b.log("gc.log"), b.log("other.log")
	for n := range 3 {
		text := time.Unix(int64(1_800_000_000+n), 0).UTC().Format("[2006-01-02T15:04:05.000-0700]") + "[warning][gc] x\n  more\n"
		b.write(w, text+"[1s][info][gc] undated\n"+many(n))
		b.write(other, many(n))
		b.reads(s)
		s.appends(t)
		b.commits(s)
	}
	if got := b.agree(); got != 6 {
		t.Errorf("%d segments have a sum, want 6", got)
	}
}

// With SealAtEnd, a drain seals the open segment. The segment has no sum if an earlier process
// began it.
func TestOnlyAWholeSegmentIsSummedUp(t *testing.T) {
	b := newBench(t)
	w := b.log("gc.log")
	b.write(w, many(0))
	s, from := b.begun(true)
	s.begins(t, from)
	b.reads(s)
	s.appends(t)
	b.commits(s)
	s.killed()

	b.to.Followers.SealAtEnd = true
	s, from = b.begun(true)
	s.begins(t, from)
	b.write(w, many(100))
	b.reads(s)
	s.appends(t)
	b.must(s.writer.drain(t.Context()))
	if got := b.agree(); got > 0 {
		t.Errorf("%d segments of two processes have a sum, want 0", got)
	}
	b.write(w, many(200))
	b.reads(s)
	s.appends(t)
	b.must(s.writer.drain(t.Context()))
	if got := b.agree(); got != 1 {
		t.Errorf("%d segments have a sum, want 1", got)
	}
}

// After an error of the destination, an uncommitted segment is cut off together with its
// sum.
func TestAnAbandonedSegmentIsNotSummedUp(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.SegmentBytes = 1
	s, from := b.begun(true)
	s.begins(t, from)
	w := b.log("gc.log")
	b.write(w, many(0))
	b.reads(s)
	s.appends(t)
	s.writer.destinationFailed(os.ErrDeadlineExceeded, time.Second)
	for _, st := range s.writer.streams {
		b.must(s.writer.resume(st))
		st.forget()
	}
	s.writer.taken.forget()
	b.write(w, many(10))
	b.reads(s)
	s.appends(t)
	b.commits(s)
	if got := b.agree(); got != 1 {
		t.Errorf("%d segments have a sum, want 1", got)
	}
}
