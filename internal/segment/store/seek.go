package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
)

// seekFile is the writer's side of a stream's seek file. Nothing depends on the file, so
// its errors are nobody's: the next entry is written where the one that failed was to be.
type seekFile struct {
	dest   *destination
	boot   bootClock
	ledger *ledger
	stream string

	recorder seek.Recorder
	loaded   bool
	size     int64 // of the entries that count
	bound    int64 // at this size the file is thinned
	stale    bool  // other bytes may be behind the entries
	counted  int64 // what the file takes of the disk; 0: there is none
}

// SeenUntil says that the last line before the mark was read at a time. The caller calls
// it once the checkpoint has the mark, because a place that a restart cuts off must not
// be in the seek file. Most calls write nothing.
func (t *Stream) SeenUntil(read time.Time) {
	if seg, ok := segment.ParseName(t.mark.Segment); ok && !t.mark.Gone && t.usable() == nil {
		t.seek.see(seek.Place{Seq: seg.Seq, Start: seg.Start, Offset: t.mark.Offset}, read)
	}
}

// see receives the end of a commit and when its last line was read.
func (f *seekFile) see(at seek.Place, read time.Time) {
	if !f.loaded {
		f.load(at)
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
	if f.write(data, f.size) == nil {
		f.size += int64(len(data))
		f.recorder.Wrote(due)
	}
}

// info is the file, named as a segment is.
func (f *seekFile) info() segment.Info {
	return segment.Info{Stream: f.stream, Name: seek.Name, Path: filepath.Join(f.dest.dir, f.stream, seek.Name)}
}

// load takes over the file of an earlier process, up to the end of a commit.
func (f *seekFile) load(at seek.Place) {
	entries, disk := f.read()
	if f.counted == 0 && disk > 0 {
		f.counted = disk
		if f.ledger.fresh { // it has the file
			f.ledger.seeks = f.ledger.seeks.minus(f.use())
		}
	}
	f.loaded, f.stale = true, true // also where there is no file
	f.size, f.bound = int64(f.recorder.Resume(entries, at))*seek.EntryBytes, seek.Bound(0)
}

// read returns the entries that can be used, and what the file takes of the disk.
func (f *seekFile) read() (entries []seek.Entry, disk int64) {
	file, err := f.dest.openSegment(f.info(), unix.O_RDONLY)
	if err != nil {
		return nil, 0
	}
	defer file.Close()
	if stat, err := file.Stat(); err == nil {
		disk = wholePages(stat.Size())
	}
	data, err := io.ReadAll(io.LimitReader(file, seek.MaxBytes))
	if err != nil {
		return nil, disk
	}
	return seek.Parse(data), disk
}

// thin makes room for entries. It overwrites the file from its beginning: a reader that
// meets earlier entries behind the new ones finds them out of order.
func (f *seekFile) thin() {
	segs, err := f.segments()
	if err != nil {
		return
	}
	entries, _ := f.read()
	entries, f.bound = seek.Thin(entries[:min(len(entries), int(f.size/seek.EntryBytes))], segs)
	data := make([]byte, 0, len(entries)*seek.EntryBytes)
	for _, e := range entries {
		data = e.Append(data)
	}
	f.stale = true
	if f.write(data, 0) == nil {
		f.size = int64(len(data))
	}
}

// seekSegments is how many of the newest segments of a stream keep their entries.
const seekSegments = 1024

func (f *seekFile) segments() (segs []seek.Segment, err error) {
	dir, err := f.dest.openDir(f.stream)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := segment.Newest(dir, seekSegments)
	for _, info := range found {
		segs = append(segs, seek.Segment{Seq: info.Seq, Start: info.Start.UnixMilli(), Size: info.Size})
	}
	return segs, err
}

// write writes entries at an offset, and cuts off what is stale behind them.
func (f *seekFile) write(data []byte, at int64) error {
	file, err := f.dest.openSegment(f.info(), unix.O_WRONLY|unix.O_CREAT)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(data, at)
	if err == nil && f.stale {
		err = file.Truncate(at + int64(len(data)))
	}
	f.stale = err != nil
	if stat, err := file.Stat(); err == nil {
		f.counted = wholePages(stat.Size())
	}
	return err
}

// use is what the file takes of the file system.
func (f *seekFile) use() use {
	if f.counted == 0 {
		return use{}
	}
	return use{bytes: f.counted, inodes: 1}
}

// removeSeek removes the seek file of a stream without segments.
func (r *retention) removeSeek(stream string) (removed bool, err error) {
	dir, err := r.dest.openDir(stream)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	disk := seekOnDisk(dir)
	if disk == 0 {
		return false, nil
	}
	left := errors.New("a segment is left")
	if err := segment.Each(dir, func(segment.Info) error { return left }); err != nil {
		return false, nil
	}
	if err := r.dest.removeSegment(segment.Info{Stream: stream, Name: seek.Name, Path: filepath.Join(dir.Name(), seek.Name)}); err != nil {
		return false, err
	}
	if t := r.streams[stream]; t != nil && t.seek.counted > 0 {
		t.seek.loaded, t.seek.counted = false, 0
	} else {
		r.ledger.seeks = r.ledger.seeks.minus(use{bytes: disk, inodes: 1})
	}
	return true, nil
}

// seekOnDisk returns what the seek file in a directory takes of the disk; 0: there is none.
func seekOnDisk(dir *os.File) int64 {
	var st unix.Stat_t
	err := kernel.Retry(func() error { return unix.Fstatat(int(dir.Fd()), seek.Name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0
	}
	return wholePages(st.Size)
}

// bootClock counts from the boot of the node, which a step of the system clock does not
// change. It goes on when the process is restarted.
type bootClock struct {
	at time.Time
	ms uint32 // modulo 2^32
}

func readBootClock() bootClock {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return bootClock{at: time.Now()} // then steps are noticed within the process alone
	}
	return bootClock{at: time.Now(), ms: uint32(ts.Nano() / 1e6)}
}

// up returns the milliseconds since boot at a time that this process has taken.
func (c bootClock) up(at time.Time) uint32 { return c.ms + uint32(at.Sub(c.at).Milliseconds()) }
