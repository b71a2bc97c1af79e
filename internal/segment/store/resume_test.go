package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

func TestResumeCutsWhatWasNotCommitted(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		appendAll(t, str, lines(1, 5000))
		m := sync(t, str)
		appendAll(t, str, lines(2, 5000)) // killed here
		must(t, s.Close())

		s = openStore(t, dest, configOf(how))
		str = s.Stream("gc")
		must(t, str.Resume(m, 1<<20))
		wantContents(t, dest, "gc", lines(1, 5000))
		if str.Mark() != m || str.Dirty() {
			t.Fatalf("the mark is %+v, want %+v", str.Mark(), m)
		}
		appendAll(t, str, lines(3, 5000))
		if next := sync(t, str); next.Segment != m.Segment {
			t.Errorf("the stream did not continue in a segment with room")
		}
		wantContents(t, dest, "gc", join(lines(1, 5000), lines(3, 5000)))
	})
}

func TestResumeDeletesNewerSegmentsAndCutsTheSealedOne(t *testing.T) {
	dest := t.TempDir()
	cfg := configOf(segment.None)
	cfg.SegmentBytes = 4 * settings.Ki
	s := openStore(t, dest, cfg)
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 1000))
	m := sync(t, str)
	appendAll(t, str, lines(2, 5000))
	sync(t, str) // sealed, but killed before the checkpoint recorded it
	appendAll(t, str, lines(3, 1000))
	must(t, s.Close())

	s = openStore(t, dest, cfg)
	str = s.Stream("gc")
	must(t, str.Resume(m, 1<<20))
	wantContents(t, dest, "gc", lines(1, 1000))
	if segs, _ := segment.List(filepath.Join(dest, "gc")); len(segs) != 1 {
		t.Fatalf("the segments %+v are left, want one", segs)
	}
	appendAll(t, str, lines(2, 5000), lines(3, 1000))
	sync(t, str)
	wantContents(t, dest, "gc", join(lines(1, 1000), lines(2, 5000), lines(3, 1000)))
}

func TestResumeOnASealedMarkStartsAnotherSegment(t *testing.T) {
	for name, again := range map[string]func(*Config){
		"same settings":     func(*Config) {},
		"larger segments":   func(c *Config) { c.SegmentBytes = settings.Mi },
		"other compression": func(c *Config) { c.Compress = segment.Zstd },
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			cfg := configOf(segment.None)
			cfg.SegmentBytes = 4 * settings.Ki
			s := openStore(t, dest, cfg)
			str := freshStream(t, s, "gc")
			appendAll(t, str, lines(1, 5000))
			m := sync(t, str)
			must(t, s.Close())
			again(&cfg)
			str = openStore(t, dest, cfg).Stream("gc")
			must(t, str.Resume(m, 0))
			appendAll(t, str, lines(2, 100))
			if next := sync(t, str); next.Segment == m.Segment {
				t.Fatal("the sealed segment grew, want a new segment")
			}
			wantContents(t, dest, "gc", join(lines(1, 5000), lines(2, 100)))
		})
	}
}

func TestResumeChangesNothingWhenTheMarkDoesNotFit(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, configOf(segment.None))
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 5000))
	m := sync(t, str)
	for name, c := range map[string]struct {
		m      segment.Mark
		maxCut int64
	}{
		"missing":         {segment.Mark{Segment: "20200101T000000.000Z-000001.log", Offset: 0}, 1 << 20},
		"short":           {segment.Mark{Segment: m.Segment, Offset: m.Offset + 1}, 1 << 20},
		"negative":        {segment.Mark{Segment: m.Segment, Offset: -1}, 1 << 20},
		"too much to cut": {segment.Mark{Segment: m.Segment, Offset: 10}, m.Offset - 11},
		"zero mark":       {segment.Mark{}, m.Offset - 1},
		"path":            {segment.Mark{Segment: "../gc/" + m.Segment, Offset: 0}, 1 << 20},
		"no name":         {segment.Mark{Offset: 3}, 1 << 20},
	} {
		if err := str.Resume(c.m, c.maxCut); !errors.Is(err, ErrMark) {
			t.Errorf("%s: the error of Resume is %v, want ErrMark", name, err)
		}
		wantContents(t, dest, "gc", lines(1, 5000))
	}
	must(t, str.Resume(m, 0))
	must(t, str.Resume(segment.Mark{Segment: m.Segment, Offset: 10}, m.Offset-10))
	wantContents(t, dest, "gc", lines(1, 5000)[:10])
}

func TestZeroMarkIsTheBeginningOfAnEmptyStream(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	str := s.Stream("gc")
	if tail, cut, err := str.Recover(); err != nil || cut != 0 || len(tail) != 0 || str.Mark() != (segment.Mark{}) {
		t.Fatalf("Recover returned %q, %d, error %v; the mark is %+v; want no tail, 0, no error and the zero mark", tail, cut, err, str.Mark())
	}
	appendAll(t, str, lines(1, 100))
	str.Abandon()
	must(t, str.Resume(str.Mark(), 1<<20))
	wantContents(t, dest, "gc", nil)
	appendAll(t, str, lines(2, 100))
	sync(t, str)
	wantContents(t, dest, "gc", lines(2, 100))
}

func TestOtherFilesInTheDirectoryAreLeftAlone(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 100))
	sync(t, str)
	note := filepath.Join(dest, "gc", "note.txt")
	must(t, os.WriteFile(note, []byte("mine"), 0o640))
	must(t, str.Resume(segment.Mark{}, 1<<20))
	must(t, str.Close())
	must(t, s.Maintain(time.Now()))
	if _, err := os.Stat(note); err != nil {
		t.Error(err)
	}
}
