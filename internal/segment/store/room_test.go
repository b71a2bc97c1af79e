package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// Many streams of two bytes each take whole blocks, directories and inodes.
func TestTinyStreamsAreBounded(t *testing.T) {
	for _, living := range []bool{false, true} {
		t.Run(fmt.Sprintf("living %v", living), func(t *testing.T) {
			dest := mountSmall(t) // of 256 pages
			must(t, unix.Mount("", dest, "", unix.MS_REMOUNT, "size=1m,nr_inodes=256"))
			s := openStore(t, dest, retaining(512*settings.Ki, 0))
			must(t, s.Maintain(time.Now()))
			for i := range 1000 {
				str := freshStream(t, s, fmt.Sprintf("t-%d", i))
				appendAll(t, str, []byte("x\n"))
				sync(t, str)
				if !living {
					must(t, str.Close())
				}
				must(t, s.Maintain(time.Now()))
			}
			if used := s.used(); used.inodes > 128 || used.bytes > 512<<10 {
				t.Errorf("the destination takes %+v, want inodes at most 128 and bytes at most 512 KiB", used)
			}
			if got := namesOf(t, dest, "t-999"); len(got) != 1 {
				t.Errorf("the last stream has the segments %v, want 1", got)
			}
		})
	}
}

// Segments never fill a volume that is smaller than the bound or that other programs fill. If
// the volume is full all the same, the oldest segments are deleted.
func TestOldestSegmentsGiveWayOnAFullVolume(t *testing.T) {
	for name, ballast := range map[string]int64{"alone": 0, "next to other files": 600 << 10} {
		t.Run(name, func(t *testing.T) {
			dest := mountSmall(t)
			must(t, os.WriteFile(filepath.Join(dest, "ballast"), make([]byte, ballast), 0o600))
			cfg := configOf(segment.None)
			s := openStore(t, dest, cfg) // 1 GiB, in segments of 64 MiB
			str := freshStream(t, s, "gc")
			must(t, s.Maintain(time.Now()))
			for range 200 {
				appendAll(t, str, append(noise(16<<10), '\n'))
				sync(t, str)
				must(t, s.Maintain(time.Now()))
			}
			// Now another program takes the rest of the space.
			fillUp(t, filepath.Join(dest, "more"))
			m, full := str.Mark(), 0
			for err := error(nil); err != nil || full == 0; full++ {
				if err = str.Append(append(noise(16<<10), '\n')); err == nil {
					m, err = str.Sync()
				}
				if err != nil {
					str.Abandon()
					must(t, str.Resume(m, 1<<20))
				}
				must(t, s.Maintain(time.Now()))
				if full > 3 {
					t.Fatal(err)
				}
			}
		})
	}
}

// The newest segments of many streams cannot exceed the bytes that retention keeps.
func TestManyStreamsShareTheBound(t *testing.T) {
	dest := memory(t)
	cfg := configOf(segment.None)
	cfg.SegmentBytes, cfg.RetainBytes = settings.Mi, settings.Mi
	s := openStore(t, dest, cfg)
	var streams []*Stream
	for i := range 16 {
		streams = append(streams, freshStream(t, s, fmt.Sprintf("s-%d", i)))
	}
	for round := range 40 {
		for _, str := range streams {
			appendAll(t, str, lines(int64(round), 8<<10))
			sync(t, str)
		}
		must(t, s.Maintain(time.Now()))
		if used := s.used(); used.bytes > 1<<20 {
			t.Fatalf("the destination takes %+v, want bytes at most 1 MiB", used)
		}
	}
	for _, str := range streams {
		if len(namesOf(t, dest, str.Name())) == 0 {
			t.Errorf("nothing is left of %s, which is as old as the others; want at least one segment", str.Name())
		}
	}
}

// A commit may take only a few streams or bytes if there is little room, but not because segments are small.
func TestWhatOneCommitMayTake(t *testing.T) {
	const page, small = 4 << 10, 256 << 10
	for name, tc := range map[string]struct {
		size, free, retain, used int64 // bytes
		least, most              int
	}{
		"much room":             {size: 16 << 30, free: 8 << 30, retain: 1 << 30, least: 1000, most: 1 << 20},
		"little is retained":    {size: 16 << 30, free: 8 << 30, retain: 16 << 20, least: 128, most: 128},
		"a small volume":        {size: 56 << 20, free: 40 << 20, retain: 1 << 30, least: 256, most: 320},
		"little is free":        {size: 16 << 30, free: 1 << 20, retain: 1 << 30, used: 512 << 20, least: 128, most: 128},
		"less than the reserve": {size: 16 << 30, free: 64 << 10, retain: 1 << 30, used: 512 << 20, least: 128, most: 128},
		"nothing is free":       {size: 16 << 30, free: 0, retain: 1 << 30, used: 512 << 20, least: 128, most: 128},
	} {
		t.Run(name, func(t *testing.T) {
			st := unix.Statfs_t{Frsize: page, Blocks: uint64(tc.size / page), Bfree: uint64(tc.free / page), Bavail: uint64(tc.free / page),
				Files: 1 << 20, Ffree: 1 << 19}
			var r room
			r.measure(st, tc.retain, small, use{bytes: tc.used})
			streams, bytes := r.ahead()
			if streams < tc.least || streams > tc.most {
				t.Errorf("a commit may take %d streams, want %d to %d", streams, tc.least, tc.most)
			}
			if bytes < segment.FrameBytes || bytes > max(segment.FrameBytes, tc.free/16) {
				t.Errorf("a commit may take %d bytes, want %d to %d", bytes, segment.FrameBytes, max(segment.FrameBytes, tc.free/16))
			}
		})
	}
}
