package segment

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Mark is the place of a commit in a stream: all bytes up to it are durable.
// The zero value is the place before the first segment.
type Mark struct {
	Segment string `json:"segment"` // its name in the directory of the stream
	Offset  int64  `json:"offset"`  // its length in bytes on disk

	// Sealed: the segment never grows again, what follows goes into a new one.
	Sealed bool `json:"sealed,omitempty"`

	// Gone: others took the segment away. The mark stands behind all segments
	// whose sequence number is not higher, whichever of them are there.
	Gone bool `json:"gone,omitempty"`
}

// Stream appends to the segments of one stream. It is not safe for concurrent
// use. A new one must be placed by Resume or Recover before it takes bytes.
type Stream struct {
	store *Store
	name  string
	dir   string

	placed bool   // Resume or Recover said where to go on
	failed error  // the first error since; only Abandon forgets it
	mark   Mark   // of the last Sync
	last   uint64 // the highest sequence number ever seen in the directory
	top    Mark   // the highest that Resume was given
	dirty  bool   // appended since the last Sync

	seg     Info     // the newest segment; no Name: there is none
	file    *os.File // of seg; nil: Append opens it
	created bool     // the entry of seg in the directory is not yet durable
	rooted  bool     // the entry of the directory in the destination is durable
	begun   int64    // up to here the kernel was asked to write seg back
	before  *Info    // the segment that seg follows, until seg is synced
}

var errUnplaced = errors.New("stream is not placed: Resume or Recover first")

// Name returns the name of the stream.
func (t *Stream) Name() string { return t.name }

// Mark returns the mark of the last Sync, Resume or Recover. Abandon keeps it.
func (t *Stream) Mark() Mark { return t.mark }

// Dirty says whether there are appended bytes that a Sync has yet to cover.
func (t *Stream) Dirty() bool { return t.dirty }

// Append writes raw, at most [FrameBytes], as one frame behind the last one,
// in a new segment if the last one is sealed. The bytes are not durable before
// the next Sync. After an error the stream must be abandoned.
func (t *Stream) Append(raw []byte) error {
	if err := t.usable(); err != nil {
		return err
	}
	if len(raw) > FrameBytes {
		return fmt.Errorf("append to stream %s: %d bytes are over the bound of %d", t.name, len(raw), FrameBytes)
	}
	if len(raw) == 0 {
		return nil
	}
	if err := t.append(raw); err != nil {
		t.store.noteFull(err)
		t.failed = fmt.Errorf("append to stream %s: %w", t.name, t.store.blame(err))
		return t.failed
	}
	return nil
}

func (t *Stream) append(raw []byte) error {
	if t.file == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	frame, err := t.store.encoder.encode(raw)
	if err != nil {
		return err
	}
	t.dirty = true
	// WriteAt goes on after a short write, and an explicit offset never lands
	// behind bytes that are not ours.
	n, err := t.file.WriteAt(frame, t.seg.Size)
	t.store.metrics.written.Add(float64(n))
	t.seg.Size += int64(n)
	if err != nil {
		return err
	}
	t.seg.ModTime = time.Now()
	t.writeBack()
	return nil
}

const (
	pageBytes = 4 << 10
	backBytes = 256 << 10
)

// writeBack asks the kernel to begin writing whole new pages, so that little is
// left to do, and to wait for, in Sync. It is no more than a hint: an error of
// the disk comes out of Sync, and a file system without the call goes without.
// The page that grows is left out, or the next append would wait for it.
func (t *Stream) writeBack() {
	end := t.seg.Size &^ (pageBytes - 1)
	if end-t.begun < backBytes {
		return
	}
	_ = unix.SyncFileRange(int(t.file.Fd()), t.begun, end-t.begun, unix.SYNC_FILE_RANGE_WRITE)
	t.begun = end
}

// Sync makes all that was appended durable and returns its mark. A segment
// that has reached SegmentBytes is closed and the mark is a sealed one. After
// an error the stream must be abandoned.
func (t *Stream) Sync() (Mark, error) {
	if err := t.usable(); err != nil {
		return t.mark, err
	}
	if !t.dirty {
		return t.mark, nil
	}
	if err := t.sync(); err != nil {
		t.store.noteFull(err)
		t.failed = fmt.Errorf("sync stream %s: %w", t.name, t.store.blame(err))
		return t.mark, t.failed
	}
	t.dirty = false
	t.mark = Mark{Segment: t.seg.Name, Offset: t.seg.Size}
	if t.before != nil {
		now := time.Now()
		t.store.ledger.add(t.store.entryOf(*t.before, now), t.store.entryOf(t.seg, now))
		t.before = nil
	}
	if t.seg.Size >= t.store.sealAt {
		t.seal()
	}
	return t.mark, nil
}

func (t *Stream) sync() error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(t.file.Fd()), &st) }); err != nil {
		return fmt.Errorf("stat segment %s: %w", t.seg.Name, err)
	}
	if st.Nlink == 0 || st.Size != t.seg.Size {
		return fmt.Errorf("segment %s was changed by another process: it has %d links and %d bytes, not %d",
			t.seg.Name, st.Nlink, st.Size, t.seg.Size)
	}
	t.seg.Disk = onDisk(&st)
	if err := retry(func() error { return unix.Fdatasync(int(t.file.Fd())) }); err != nil {
		return fmt.Errorf("sync segment %s: %w", t.seg.Name, err)
	}
	if !t.created {
		return nil
	}
	if err := t.store.syncDir(t.name); err != nil {
		return err
	}
	t.created = false
	if t.rooted {
		return nil
	}
	if err := t.store.syncDir("."); err != nil {
		return err
	}
	t.rooted = true
	return nil
}

// seal ends a synced segment: the next Append creates another.
func (t *Stream) seal() {
	t.mark.Sealed = true
	t.closeFile()
	t.store.metrics.sealed.Inc()
}

// release gives the newest segment to retention, which deletes it once the
// checkpoint has the new mark: it is Gone.
func (t *Stream) release() {
	if !t.mark.Sealed {
		t.store.metrics.sealed.Inc()
	}
	t.closeFile()
	t.mark, t.seg = t.mark.gone(), Info{}
}

// usable says why the stream takes no calls.
func (t *Stream) usable() error {
	if t.failed != nil {
		return fmt.Errorf("stream must be abandoned after an error: %w", t.failed)
	}
	if !t.placed {
		return fmt.Errorf("use stream %s: %w", t.name, errUnplaced)
	}
	return nil
}

// CloseIdle closes the descriptor of a stream that is not dirty; the next
// Append opens it again. On a dirty stream it does nothing.
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

// Abandon closes the descriptor without trust in it and forgets all that was
// appended since the last Sync. It is the only way on after an error, and
// Resume, mostly with [Stream.Mark], or Recover must follow.
func (t *Stream) Abandon() {
	t.closeFile()
	if t.placed && (t.seg.Name != "" || t.before != nil) {
		t.store.ledger.fresh = false // what the stream has counted, the disk knows better
	}
	t.placed, t.failed, t.dirty = false, nil, false
	t.seg, t.before, t.created, t.rooted = Info{}, nil, false, false
}

// Close ends the stream: all its segments are sealed, and retention may delete
// them. The Stream is of no use afterwards, but [Store.Stream] makes another.
// Bytes that were not synced are left as after a crash.
func (t *Stream) Close() error {
	if t.store.streams[t.name] != t {
		return nil
	}
	err := t.CloseIdle()
	clean := t.placed && t.failed == nil && !t.dirty && t.before == nil
	if clean && t.seg.Name != "" {
		if !t.mark.Sealed {
			t.store.metrics.sealed.Inc()
		}
		t.store.ledger.add(t.store.entryOf(t.seg, time.Now()), endOfTime)
	}
	if !clean {
		t.Abandon()
	}
	t.placed = false
	delete(t.store.streams, t.name)
	return err
}

// closeFile is for descriptors whose close has nothing left to tell: those of
// synced or of abandoned bytes.
func (t *Stream) closeFile() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}
