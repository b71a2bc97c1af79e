package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
)

// parts is what the streams of a Store and its retention share. Streams and retention call the
// parts; no part calls a stream or retention.
type parts struct {
	cfg      Config
	log      *slog.Logger
	metrics  *metrics
	dest     *destination
	ledger   *ledger
	encoder  *encoder
	verifier *verifier
	streams  map[string]*Stream // the open ones, by name
	boot     bootClock
	sealAt   int64 // the size at which a segment is sealed
}

// Stream appends to the segments of one stream. It is not safe for concurrent
// use. Resume or Recover must place a new Stream before Append.
type Stream struct {
	*parts
	name string
	dir  string

	placed bool         // Resume or Recover has set the place to append at
	failed error        // the first error of Append or Sync; only Abandon clears it
	mark   segment.Mark // of the last Sync
	last   uint64       // the highest sequence number ever seen in the directory
	top    segment.Mark // the highest mark that Resume received
	dirty  bool         // bytes were appended since the last Sync

	seg     segment.Info  // the newest segment; no Name: there is no segment
	file    *os.File      // of seg; nil: Append opens it
	created bool          // the entry of seg in the directory is not yet durable
	rooted  bool          // the entry of the directory in the destination is durable
	cached  cached        // of seg
	before  *segment.Info // the segment before seg, until seg is synced
	sum     sumFile       // what seg holds
	seek    seekFile
}

// hintsOf returns the hint files of a stream.
func hintsOf(t *Stream) [len(hintNames)]*hintFile {
	return [...]*hintFile{&t.seek.hintFile, &t.sum.hintFile}
}

// end is where a stream ends: its newest segment, and the mark of its last commit.
type end struct {
	seg  segment.Info
	mark segment.Mark
}

var errUnplaced = errors.New("stream is not placed: Resume or Recover first")

// Name returns the name of the stream.
func (t *Stream) Name() string { return t.name }

// Mark returns the mark of the last Sync, Resume or Recover. Abandon keeps it.
func (t *Stream) Mark() segment.Mark { return t.mark }

// Dirty reports whether bytes were appended since the last Sync.
func (t *Stream) Dirty() bool { return t.dirty }

// list returns the last n segments of the stream, or none if the stream has no directory. It
// fails with ErrAway if the destination is away. It also fails if the directory does not permit
// a new segment, so that the error occurs before the first Append.
func (t *Stream) list(n int) ([]segment.Info, error) {
	if err := t.dest.present(); err != nil {
		return nil, err
	}
	dir, err := t.dest.openDir(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	defer dir.Close()
	if err := writable(dir); errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	found, err := segment.Newest(dir, n)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return found, nil
}

// Append writes raw, at most [segment.FrameBytes], as one frame after the last frame, or in a
// new segment if the last segment is sealed. The bytes are not durable until the next
// Sync. After an error the caller must abandon the stream.
func (t *Stream) Append(raw []byte) error {
	if err := t.usable(); err != nil {
		return err
	}
	if len(raw) > segment.FrameBytes {
		return fmt.Errorf("append to stream %s: %d bytes are over the limit of %d", t.name, len(raw), segment.FrameBytes)
	}
	if len(raw) == 0 {
		return nil
	}
	if err := t.append(t.encoder.encode(raw)); err != nil {
		return err
	}
	t.sum.content.Frame(raw)
	return nil
}

// Count records how many lines of each level were appended with Append.
func (t *Stream) Count(lines *[ul.NumLevels]uint32) { t.sum.content.Count(lines) }

// AppendFrame is like Append, for bytes that are already a frame. The caller must ensure that
// the frame has at most [segment.FrameBytes] raw bytes and the compression of the segments. The
// segment gets no entry in the file of sums.
func (t *Stream) AppendFrame(frame []byte) error {
	err := t.append(frame)
	t.sum.partly()
	return err
}

func (t *Stream) append(frame []byte) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := t.write(frame); err != nil {
		t.failed = fmt.Errorf("append to stream %s: %w", t.name, t.dest.judge(err))
		return t.failed
	}
	return nil
}

func (t *Stream) write(frame []byte) error {
	if t.file == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	t.dirty = true
	// WriteAt continues after a short write. With an explicit offset, the frame is never written
	// after bytes that another process has appended.
	n, err := t.file.WriteAt(frame, t.seg.Size)
	t.sum.append(frame[:n], t.seg.Size)
	t.metrics.written.Add(float64(n))
	t.seg.Size += int64(n)
	if err != nil {
		return err
	}
	t.seg.ModTime = time.Now()
	t.cached.writeBack(t.file, t.seg.Size)
	return nil
}

// Sync makes all appended bytes durable and returns their mark. Sync seals a segment
// that has reached SegmentBytes. After an error the caller must abandon the stream:
// the kernel may have discarded pages that it could not write, and a second fsync of
// the same descriptor would succeed without them.
func (t *Stream) Sync() (segment.Mark, error) {
	if err := t.usable(); err != nil {
		return t.mark, err
	}
	if !t.dirty {
		return t.mark, nil
	}
	err := t.sync()
	if err == nil {
		err = journalLives(t.file)
	}
	if err != nil {
		t.failed = fmt.Errorf("sync stream %s: %w", t.name, t.dest.judge(err))
		return t.mark, t.failed
	}
	t.dirty = false
	if !t.cfg.Reread {
		t.cached.forget(t.file, t.seg.Size)
	}
	t.mark = segment.Mark{Segment: t.seg.Name, Offset: t.seg.Size}
	if t.before != nil {
		t.ledger.sealed(*t.before, t.seg)
		t.before = nil
	}
	if t.seg.Size >= t.sealAt {
		t.seal()
	}
	return t.mark, nil
}

func (t *Stream) sync() error {
	if err := kernel.Retry(func() error { return unix.Fdatasync(int(t.file.Fd())) }); err != nil {
		return fmt.Errorf("sync segment %s: %w", t.seg.Name, err)
	}
	// Fstat must follow the sync: while a file system is allocating pages, because another process
	// syncs too, it may count them neither as allocated nor as still to be allocated.
	var st unix.Stat_t
	if err := kernel.Retry(func() error { return unix.Fstat(int(t.file.Fd()), &st) }); err != nil {
		return fmt.Errorf("stat segment %s: %w", t.seg.Name, err)
	}
	if st.Nlink == 0 || st.Size != t.seg.Size {
		return fmt.Errorf("segment %s was changed by another process: it has %d links and %d bytes, not %d",
			t.seg.Name, st.Nlink, st.Size, t.seg.Size)
	}
	t.seg.Disk = segment.OnDisk(&st)
	if !t.created {
		return nil
	}
	if err := t.dest.syncDir(t.name); err != nil {
		return err
	}
	t.created = false
	if t.rooted {
		return nil
	}
	if err := t.dest.syncDir("."); err != nil {
		return err
	}
	t.rooted = true
	return nil
}

// usable returns why the stream cannot append or sync now, or nil.
func (t *Stream) usable() error {
	if t.failed != nil {
		return fmt.Errorf("stream must be abandoned after an error: %w", t.failed)
	}
	if !t.placed {
		return fmt.Errorf("use stream %s: %w", t.name, errUnplaced)
	}
	return nil
}

// SeenUntil records that the last line before the mark was read at the given time. The caller
// calls it once the checkpoint has the mark, because the seek file must not have a place that
// a restart can cut off. Most calls write nothing.
func (t *Stream) SeenUntil(read time.Time) {
	if seg, ok := segment.ParseName(t.mark.Segment); ok && !t.mark.Gone && t.usable() == nil {
		t.seek.see(seek.Place{Seq: seg.Seq, Start: seg.Start, Offset: t.mark.Offset}, read)
	}
}

// Abandon closes the descriptor and forgets all bytes that were appended since the
// last Sync. After an error the caller must abandon the stream, and then place it
// with Resume, usually at [Stream.Mark], or with Recover. Then Append opens a new descriptor.
func (t *Stream) Abandon() {
	t.closeFile()
	if t.placed && (t.seg.Name != "" || t.before != nil) {
		t.ledger.forget() // the size of an abandoned segment is unknown
	}
	t.placed, t.failed, t.dirty, t.seek.loaded, t.sum.loaded = false, nil, false, false, false
	t.seg, t.before, t.created, t.rooted = segment.Info{}, nil, false, false
	t.sum.partly()
}

// Close ends the stream: all its segments are sealed, and retention may delete them. Unsynced
// bytes are left as after a crash. [Store.Stream] then returns another Stream for the name.
func (t *Stream) Close() error {
	if t.streams[t.name] != t {
		return nil
	}
	err := t.CloseIdle()
	clean := t.placed && t.failed == nil && !t.dirty && t.before == nil
	if clean && t.seg.Name != "" {
		if !t.mark.Sealed {
			t.metrics.sealed.Inc()
			t.sum.seal(t.seg)
		}
		t.ledger.ended(t.seg)
	}
	if !clean {
		t.Abandon()
	}
	t.placed = false
	for _, f := range hintsOf(t) {
		t.ledger.hints = t.ledger.hints.plus(f.use())
	}
	delete(t.streams, t.name)
	return err
}
