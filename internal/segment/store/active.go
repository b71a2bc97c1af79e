package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// open opens the newest segment for Append, or creates a new one if the newest is
// sealed.
func (t *Stream) open() error {
	if t.seg.Name == "" || t.mark.Sealed {
		return t.create()
	}
	file, err := t.dest.openSegment(t.seg, unix.O_WRONLY)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() != t.seg.Size {
		err = fmt.Errorf("it was changed by another process: it has %d bytes, not %d", stat.Size(), t.seg.Size)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("open segment %s: %w", t.seg.Name, err)
	}
	whole := t.seg.Size &^ (segment.PageBytes - 1)
	t.file, t.cached = file, cached{begun: whole, kept: whole}
	return nil
}

// create creates the next segment. The directory entries of the segment and of a new directory
// become durable with the next Sync, before the mark of that Sync can reach the checkpoint. All
// bytes of the previous segment are durable by now, because a segment is sealed only in or
// after a Sync: a crash leaves no hole between the two.
func (t *Stream) create() error {
	if err := t.dest.present(); err != nil {
		return err
	}
	made, err := t.dest.makeDir(t.name)
	if err != nil {
		return fmt.Errorf("create stream directory: %w", err)
	}
	if made {
		t.rooted = false
	}
	start := time.Now().UTC().Truncate(time.Millisecond)
	name := segment.FileName(start, t.last+1, t.cfg.Compress)
	seg := segment.Info{Stream: t.name, Path: filepath.Join(t.dir, name), Name: name, Seq: t.last + 1, Start: start,
		Compress: t.cfg.Compress, ModTime: start, Disk: segment.PageBytes}
	file, err := t.dest.openSegment(seg, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		if made { // the directory may have taken the last inode
			_, _ = t.dest.removeDir(t.name)
		}
		return fmt.Errorf("create segment: %w", err)
	}
	if made {
		t.ledger.dirs++
	}
	if before := max(t.seg.Seq, t.mark.Seq(), t.top.Seq()); before != t.last {
		noteFollows(file, before) // numbers were skipped
	}
	if t.seg.Name != "" {
		before := t.seg
		t.before = &before
	}
	t.last++
	t.file, t.cached, t.created, t.dirty = file, cached{}, true, true
	t.seg = seg
	t.sum.begin()
	return nil
}

// noteFollows records that the new segment follows segment number before. A file system
// without extended attributes cannot record it; then the hole in the numbers looks like a
// missing segment.
func noteFollows(file *os.File, before uint64) {
	_ = unix.Fsetxattr(int(file.Fd()), segment.FollowsAttr, strconv.AppendUint(nil, before, 10), 0)
}

// seal ends a synced segment: the next Append creates another segment. If the process ends
// before a checkpoint has the mark, the segment may grow again. Its entry in the file of sums
// then has another size, and is not used.
func (t *Stream) seal() {
	t.mark.Sealed = true
	t.sum.seal(t.seg)
	t.closeFile()
	t.metrics.sealed.Inc()
}

// release gives the newest segment to retention and sets the mark to Gone. Retention
// deletes the segment once the checkpoint has the new mark.
func (t *Stream) release() (before end) {
	before = end{seg: t.seg, mark: t.mark}
	if !t.mark.Sealed {
		t.metrics.sealed.Inc()
	}
	t.closeFile()
	t.mark, t.seg = gone(t.mark), segment.Info{}
	return before
}

// takeBack undoes release because the checkpoint does not have the new mark. The segment
// stays sealed.
func (t *Stream) takeBack(before end) {
	t.seg, t.mark = before.seg, before.mark
	t.mark.Sealed = true
}

// holds reports whether the stream itself holds a segment, which is then not in the ledger.
func (t *Stream) holds(info segment.Info) bool {
	return t.placed && (info.Name == t.seg.Name || t.before != nil && info.Name == t.before.Name)
}

// CloseIdle closes the descriptor of a stream that is not dirty; the next Append
// opens the segment again. CloseIdle does nothing to a dirty stream.
func (t *Stream) CloseIdle() error {
	if t.dirty || t.file == nil || t.failed != nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	if err != nil {
		return fmt.Errorf("close segment %s: %w", t.seg.Path, err)
	}
	return nil
}

// closeFile ignores the error, because the bytes are synced or abandoned.
func (t *Stream) closeFile() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}
