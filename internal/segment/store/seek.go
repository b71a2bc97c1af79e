package store

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment/seek"
)

// seekFile is the writer's side of a stream's seek file.
type seekFile struct {
	hintFile
	boot     bootClock
	recorder seek.Recorder
	bound    int64 // the file is thinned when it would exceed this size
}

// see receives the end of a commit and the time at which its last line was read.
func (f *seekFile) see(at seek.Place, read time.Time) {
	if !f.loaded {
		f.size, f.bound = int64(f.recorder.Resume(seek.Parse(f.load()), at))*seek.EntryBytes, seek.Bound(0)
	}
	due := f.recorder.See(at, read, f.boot.up(read))
	if len(due) == 0 {
		return
	}
	var data []byte
	for _, e := range due {
		data = e.Append(data)
	}
	if f.size+int64(len(data)) > f.bound {
		f.thin()
	}
	if f.add(data) == nil {
		f.recorder.Wrote(due)
	}
}

// seekSegments is how many of the newest segments of a stream keep their entries.
const seekSegments = 1024

// thin makes room for entries.
func (f *seekFile) thin() {
	found, err := f.newest(seekSegments)
	if err != nil {
		return
	}
	segs := make([]seek.Segment, 0, len(found))
	for _, info := range found {
		segs = append(segs, seek.Segment{Seq: info.Seq, Start: info.Start.UnixMilli(), Size: info.Size})
	}
	data, _ := f.read()
	entries := seek.Parse(data)
	entries, f.bound = seek.Thin(entries[:min(len(entries), int(f.size/seek.EntryBytes))], segs)
	data = data[:0]
	for _, e := range entries {
		data = e.Append(data)
	}
	f.replace(data)
}

// bootClock counts from the boot of the node, so a step of the system clock does not
// change it. It continues when the process is restarted.
type bootClock struct {
	at time.Time
	ms uint32 // modulo 2^32
}

func readBootClock() bootClock {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return bootClock{at: time.Now()} // without a boot clock, only steps while this process runs are noticed
	}
	return bootClock{at: time.Now(), ms: uint32(ts.Nano() / 1e6)}
}

// up returns the milliseconds since boot at a time that this process got from time.Now.
func (c bootClock) up(at time.Time) uint32 { return c.ms + uint32(at.Sub(c.at).Milliseconds()) }
