package cat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

// record is a record that a test wrote, with its time.
type record struct {
	at   time.Time
	text string // with the name of its stream before each line
}

// random fills a stream with frames of random records, some of which have several lines,
// and returns the records. Some frames end inside a record.
func (d *shipped) random(r *rand.Rand, name string, frames int) (written []record) {
	s := d.restart(name, segment.Mark{})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(r.Intn(3000)) * time.Millisecond)
	var raw []byte
	for range frames {
		for range 1 + r.Intn(20) {
			at = at.Add(time.Duration(r.Intn(100)) * time.Millisecond)
			lines := []string{at.Format("[2006-01-02T15:04:05.000-0700]") + fmt.Sprintf("[info][gc] %d of %s\n", len(written), name)}
			for i := range r.Intn(3) {
				lines = append(lines, fmt.Sprintf(" further line %d %s\n", i, strings.Repeat("x", r.Intn(300))))
			}
			raw = append(raw, strings.Join(lines, "")...)
			written = append(written, record{at, name + ": " + strings.Join(lines, name+": ")})
		}
		cut := len(raw) - r.Intn(min(len(raw), 100))
		d.append(s, string(raw[:cut]))
		raw = raw[cut:]
	}
	d.append(s, string(raw)+" end\n")
	written[len(written)-1].text += name + ":  end\n"
	return written
}

// openSegments counts the segments that the process has open.
func openSegments(dest string) (n int) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dest) && strings.Contains(to, "Z-0") {
			n++
		}
	}
	return n
}

// watched is an output that counts the open segments at each write.
type watched struct {
	bytes.Buffer
	dest string
	most int
}

func (w *watched) Write(p []byte) (int, error) {
	w.most = max(w.most, openSegments(w.dest))
	return w.Buffer.Write(p)
}

// Merged streams have the order of a stable sort by time, however many streams there are
// and however few of them can be open.
func TestMergeIsAStableSortByTime(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		for _, streams := range []int{2, maxOpen, 3 * maxOpen} {
			t.Run(fmt.Sprintf("%s of %d", how, streams), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewSource(int64(streams)))
				d := newShipped(t, how)
				var want []record
				for i := range streams {
					want = append(want, d.random(r, fmt.Sprintf("s%02d", i), 10)...)
				}
				d.must(d.store.Close())
				slices.SortStableFunc(want, func(a, b record) int { return a.at.Compare(b.at) })
				var text strings.Builder
				for _, rec := range want {
					text.WriteString(rec.text)
				}
				out := &watched{dest: d.dir}
				p := New(Config{}, out, os.Stderr)
				p.keepAll = 100 * streams
				if err := errors.Join(append(p.Find([]string{d.dir}), p.Run(context.Background()))...); err != nil || p.Failed() {
					t.Fatal(err)
				}
				if out.String() != text.String() {
					t.Errorf("printed %d bytes, want %d, in the order of a stable sort by time", out.Len(), text.Len())
				}
				if out.most > maxOpen || streams > maxOpen && out.most < 2 {
					t.Errorf("%d segments of %d streams were open at a time, want at most maxOpen, and at least 2 if there are more streams than that", out.most, streams)
				}
				d.open()
			})
		}
	}
}

// A parked series prints the bytes that it kept without being opened again. If it were opened, it would park another
// series: with more streams than can be open, each frame would be read again every few lines.
func TestASeriesThatPrintsWhatItKeptParksNoOther(t *testing.T) {
	const lines = 10
	d, ctx := newShipped(t, segment.Zstd), t.Context()
	for i := range maxOpen + 1 {
		name := fmt.Sprintf("s%02d", i)
		d.append(d.restart(name, segment.Mark{}), strings.Repeat("[info][gc] of "+name+"\n", lines))
	}
	p := New(Config{Level: ul.Info}, io.Discard, os.Stderr)
	if err := errors.Join(p.Find([]string{d.dir})...); err != nil {
		t.Fatal(err)
	}
	p.keep = 1 << 10
	for _, s := range p.series() {
		defer s.source.Close()
		if more, err := s.next(ctx); !more || err != nil {
			t.Fatalf("next returned %t, error %v; want true and no error", more, err)
		}
	}
	open := slices.Clone(p.open)
	at := slices.IndexFunc(p.series(), func(s *series) bool { return !slices.Contains(open, s) })
	if len(open) != maxOpen || at < 0 {
		t.Fatalf("%d series are open, and the first parked one is number %d, want maxOpen open ones and a parked one", len(open), at)
	}
	parked := p.series()[at]
	for i := range lines - 1 {
		if more, err := parked.next(ctx); !more || err != nil || !slices.Equal(p.open, open) {
			t.Fatalf("at line %d: next returned %v, error %v, or other series are open than before; want true, no error and the same series", i+2, more, err)
		}
	}
}

// measured is an output that samples the memory in use and checks that the wanted text is written.
type measured struct {
	t      *testing.T
	wanted *bufio.Reader
	calls  int
	most   uint64
}

func (m *measured) Write(p []byte) (int, error) {
	want := make([]byte, len(p))
	if _, err := io.ReadFull(m.wanted, want); err != nil || !bytes.Equal(p, want) {
		m.t.Fatalf("write %d does not have the wanted lines in order: %v", m.calls, err)
	}
	if m.calls++; m.calls%16 == 0 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		m.most = max(m.most, stats.HeapAlloc)
	}
	return len(p), nil
}

// The memory of a merge is bounded even if each stream is a frame of a few KiB whose content is fifteen times the
// size of a sidecar's largest frame.
func TestStreamsOfHugeFramesAreMergedInBoundedMemory(t *testing.T) {
	const streams, seconds = maxOpen + 2, 15 // of 1 MB each
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	lines := func(second int) string {
		return strings.Repeat(noon.Add(time.Duration(second)*time.Second).Format("[2006-01-02T15:04:05.000-0700]")+"[info][gc] "+strings.Repeat("x", 60<<10)+"\n", 17)
	}
	var raw []byte
	for second := range seconds {
		raw = append(raw, lines(second)...)
	}
	packed, dir := enc.EncodeAll(raw, nil), t.TempDir()
	raw = nil
	name := func(stream int) string { return fmt.Sprintf("s%02d", stream) }
	for stream := range streams {
		of := filepath.Join(dir, name(stream))
		if err := errors.Join(os.Mkdir(of, 0o700), os.WriteFile(filepath.Join(of, "20261120T120000.000Z-000001.log.zst"), packed, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	read, write := io.Pipe()
	go func() {
		for second := range seconds {
			for stream := range streams {
				if _, err := io.WriteString(write, strings.ReplaceAll(lines(second), "[2026", name(stream)+": [2026")); err != nil {
					return
				}
			}
		}
		write.Close()
	}()
	defer read.Close()
	out := &measured{t: t, wanted: bufio.NewReader(read)}
	p := New(Config{}, out, os.Stderr)
	if err := errors.Join(append(p.Find([]string{dir}), p.Run(context.Background()))...); err != nil || p.Failed() {
		t.Fatal(err)
	}
	if _, err := out.wanted.ReadByte(); err != io.EOF {
		t.Errorf("lines are missing at the end: %v", err)
	}
	if bound := uint64(openBytes + keepAll + 32<<20); out.most > bound {
		t.Errorf("%d MiB of memory in use, want at most %d", out.most>>20, bound>>20)
	}
}

// When streams are followed together, each line has the name of its stream, and lines are not mixed.
func TestFollowOfSeveralStreams(t *testing.T) {
	eachFollow(t, func(t *testing.T, d *shipped, cfg Config) {
		first := d.restart("a.log", segment.Mark{})
		d.append(first, "[2026-11-20T12:00:02.000+0000][info] 2\n")
		f := startFollower(t, cfg, d.dir)
		f.expect("[2026-11-20T12:00:02.000+0000][info] 2\n") // the only stream so far
		second := d.store.Stream("b.log")
		d.must(second.Resume(segment.Mark{}, 1<<30))
		d.append(second, "[2026-11-20T12:00:01.000+0000][info] 1\n further\n[2026-11-20T12:00:0")
		f.expect("b.log: [2026-11-20T12:00:01.000+0000][info] 1\nb.log:  further\n")
		d.append(first, "[2026-11-20T12:00:04.000+0000][info] 4\n")
		f.expect("a.log: [2026-11-20T12:00:04.000+0000][info] 4\n")
		d.append(second, "3.000+0000][info] 3\n")
		f.expect("b.log: [2026-11-20T12:00:03.000+0000][info] 3\n")
		d.append(second, "[2026-11-20T12:00:05.000+0000][info] "+strings.Repeat("x", cut.HeadBytes))
		f.expect("b.log: [2026-11-20T12:00:05.000+0000][info] " + strings.Repeat("x", cut.HeadBytes))
		d.append(first, "[2026-11-20T12:00:06.000+0000][info] 6\n")
		f.expect("\na.log: [2026-11-20T12:00:06.000+0000][info] 6\n")
		d.append(second, "y\n")
		f.expect("b.log: y\n")
		d.append(first, "[2026-11-20T12:00:07.000+0000][info] 7\n")
		f.expect("a.log: [2026-11-20T12:00:07.000+0000][info] 7\n")
	})
}
