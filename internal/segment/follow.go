package segment

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/segment/seek"
)

// followIdle is how long after its last write the newest segment stays open. A destination may
// hold many streams that have ended, and each open segment costs the memory of a frame.
const followIdle = 10 * time.Second

// FollowOptions says where a [Follower] begins, and whether more will be appended. The
// zero value begins with the oldest segment and expects more.
type FollowOptions struct {
	// From is where to begin: the end of a frame that a commit has made durable, because a
	// restart may have cut off later frames. The zero value is the beginning.
	From Place

	// Since skips the segments that were complete before this time. The name of the next segment
	// shows when a segment was complete: its last line is persisted before the next segment is
	// created. Where a clock was set back, no segment is skipped.
	Since time.Time

	// Seek also skips the beginning of a segment if the seek file of the stream shows that it
	// is before Since. Nil: no part of a segment is skipped.
	Seek *seek.Index

	// Once reads the segments as they are now: nothing will be appended to them. Then
	// an incomplete frame in the newest segment is damage if a sound frame follows it,
	// and otherwise a [*TornError].
	Once bool

	// Memory is shared with other Followers. Nil: the Follower has its own.
	Memory *Memory

	// Pass is called with each segment that is complete, before it is read. If it returns
	// true, the segment is passed over. Nil: no segment is passed over.
	Pass func(Info) bool

	// Committed returns how far the stream is durable, or false if all of it is durable. Bytes
	// past the mark are not returned: a restart may cut them off. Nil: all bytes are returned, as
	// for a reader outside the writer's process. Next calls Committed at each look.
	Committed func() (Mark, bool)
}

// Follower reads the segments of one stream in order, and then the bytes that are appended.
// Meanwhile the writer may create segments, retention may delete segments, and a restart of the
// writer may cut off uncommitted bytes and append them again in other frames, perhaps in another
// segment. Even so, Next returns each raw byte once.
//
// A Follower starts no goroutine, never waits, and holds one frame and a bounded
// number of names in memory. It is not safe for concurrent use.
type Follower struct {
	in        listing
	since     since
	once      bool
	committed func() (Mark, bool)
	memory    *Memory

	found  []Info // found at the last look: prev, cur and the segments that follow
	more   bool   // there are newer segments than found
	looked bool   // found is not read to its end yet

	cur, prev place
	newest    bool    // nothing follows cur, so it may grow
	reader    *Reader // of cur; nil: closed
	again     repeat
	undo      undo
	seen      uint64 // the highest number of a segment that was begun
	sure      bool   // damage was found at cur; if a fresh reader finds it too, it is skipped
	stuck     bool   // cur cannot be read
	rewound   bool   // cur was read beyond its place
	retired   bool   // cur was deleted, and not by a restart
	unread    bool   // cur was retired and may have had bytes that were not read
}

// OpenFollower follows the segments in dir, the directory of one stream. The
// directory need not exist yet. It fails only if opt.From is invalid.
func OpenFollower(dir string, opt FollowOptions) (*Follower, error) {
	from, err := placeIn(dir, opt.From)
	if err != nil {
		return nil, err
	}
	return &Follower{in: listing{dir: dir}, since: since{opt.Since, opt.Seek, opt.Pass}, once: opt.Once, committed: opt.Committed, memory: opt.Memory,
		cur: from, seen: from.seg.Seq}, nil
}

// FollowFiles follows files in the given order, whatever their names. Each needs a Path and a
// Name. The last file may grow unless sealed is true.
func FollowFiles(files []Info, sealed bool, opt FollowOptions) *Follower {
	in := listing{files: make([]Info, len(files)), sealed: sealed}
	for i, info := range files {
		info.Seq = uint64(i + 1)
		in.files[i] = info
	}
	return &Follower{in: in, since: since{opt.Since, opt.Seek, opt.Pass}, once: opt.Once}
}

// Next returns the next raw bytes: at least one, all from the same frame. They are valid until
// the next call. Once Next has returned all bytes that existed at its last look, it returns
// [io.EOF], and the next call looks again. After other errors, Next may be called again, too:
//
//   - [*DamageError]: Next skipped a range of bytes on disk. The next call continues
//     after that range, and may return the adjacent range.
//   - [*GoneError]: segments were deleted before they were read. The next call
//     continues with the segments that are left.
//   - [*TornError]: returned in place of io.EOF, only with FollowOptions.Once.
//   - [*ReadError]: the directory or a segment cannot be read. The next call tries
//     again; Skip skips the segment.
func (f *Follower) Next() ([]byte, error) {
	f.undo.valid = false
	for {
		var raw []byte
		var err error
		switch {
		case !f.looked:
			err = f.look()
		case f.reader == nil:
			err = f.enter()
		case f.full():
			err = f.rest()
		default:
			f.reader.end = 0
			if f.newest && f.committed != nil {
				f.reader.end = f.cur.seg.Size
			}
			if raw, err = f.reader.Next(); err != nil {
				raw, err = nil, f.stop(err)
			} else {
				raw = f.take(raw)
			}
		}
		if err != nil || len(raw) > 0 {
			return raw, err
		}
	}
}

// Segment describes the segment that was read last. Its Size is from the last look.
func (f *Follower) Segment() Info { return f.cur.seg }

// Frame is the position of the bytes that the last call of Next returned.
type Frame struct {
	Begin, End int64 // bytes on disk, in the segment that was read last
	Raw        int64 // raw bytes of the segment that were read up to End
	From       int64 // where reading of the segment began: 0, or after the part that FollowOptions.Seek skips
}

// Frame describes the frame that was read last.
func (f *Follower) Frame() Frame {
	return Frame{Begin: f.undo.place.Offset, End: f.cur.Offset, Raw: f.cur.Raw, From: f.cur.from}
}

// Rewind undoes the last call of Next and closes the segment: the next call of Next
// returns the same bytes again, unless a restart of the writer has cut them off. So
// a reader of many streams need not hold a frame of each. Rewind does nothing if the
// last call of Next returned an error.
func (f *Follower) Rewind() {
	if !f.undo.valid {
		return
	}
	f.close()
	f.cur.Place, f.undo.place = f.undo.place, f.cur.Place
	f.again, f.undo.valid, f.rewound = f.undo.again, false, true
}

// Skip skips the segment for which Next has just returned a [*ReadError].
func (f *Follower) Skip() {
	if f.stuck {
		f.leave()
	}
}

// Held returns how many bytes of the open segment are in memory, compressed and decoded: a
// frame that no sidecar wrote may have 16 MiB of each. Rewind and Close free them.
func (f *Follower) Held() int {
	if f.reader == nil {
		return 0
	}
	return cap(f.reader.in.buf) + cap(f.reader.raw)
}

// Close closes the segment that is open. A later call of Next opens it again.
func (f *Follower) Close() error {
	if f.reader == nil {
		return nil
	}
	f.memory.keep(f.reader)
	err := f.reader.Close()
	f.reader = nil
	return err
}

// followAhead is the most segments that one look of a Follower finds.
const followAhead = 64

// listing finds the segments that a Follower reads.
type listing struct {
	dir    string // the directory of a stream
	files  []Info // files to read instead, numbered in their order; nil: the segments in dir
	sealed bool   // the last of the files has a successor
}

// list returns the oldest segments that are not before first, whether there are older segments,
// and whether there are newer ones than it returns. Named files after first are also returned
// if they do not exist, so that opening them returns the error.
func (l *listing) list(first Info) (found []Info, older, more bool, err error) {
	if l.files != nil {
		return l.listFiles(first), false, false, nil
	}
	dir, err := untrusted.OpenDir(l.dir)
	if err != nil {
		return nil, false, false, err
	}
	defer dir.Close()
	shrink := func() {
		slices.SortFunc(found, compareInfo)
		if len(found) > followAhead {
			found, more = slices.Delete(found, followAhead, len(found)), true
		}
	}
	err = Each(dir, func(info Info) error {
		if compareInfo(info, first) < 0 {
			older = true
			return nil
		}
		if found = append(found, info); len(found) >= 2*followAhead {
			shrink()
		}
		return nil
	})
	shrink()
	return found, older, more, err
}

// open opens a listed segment without following links, or a file that a user named.
func (l *listing) open(seg Info) (*Reader, error) {
	if l.files == nil {
		return OpenListed(seg)
	}
	return OpenReader(seg.Path)
}

func (l *listing) listFiles(first Info) []Info {
	var found []Info
	for _, info := range l.files {
		stat, err := os.Stat(info.Path)
		if err == nil {
			info.Size, info.ModTime = stat.Size(), stat.ModTime()
		}
		if order := compareInfo(info, first); order >= 0 && err == nil || order > 0 {
			found = append(found, info)
		}
	}
	return found
}

// indexOf returns the index of the segment with that name, or -1.
func indexOf(found []Info, name string) int {
	return slices.IndexFunc(found, func(info Info) bool { return info.Name == name })
}

// errTorn is the damage of an incomplete frame that will not be completed.
var errTorn = errors.New("an incomplete frame")

// DamageError says that a [Follower] skipped the bytes of a segment from From to To because it
// found no frame in them. How many raw bytes they held is unknown.
type DamageError struct {
	Path     string
	From, To int64
	Err      error // the error in the first of these bytes
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("bytes %d-%d of %s: %v", e.From, e.To-1, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *DamageError) Unwrap() error { return e.Err }

// GoneError says that segments were deleted before a [Follower] had read them to
// their end, by retention or by hand.
type GoneError struct {
	Path   string // of a deleted segment, or of the last segment before the deleted ones
	Offset int64  // how much of that segment was read
	Size   int64  // its size when it was last seen; 0: never. Everything past Offset was missed.

	// Numbers counts the sequence numbers after that segment for which there is no segment. Each
	// belonged to a segment that was deleted unread, unless a restart skipped the number.
	Numbers uint64
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("segments deleted unread: %s after byte %d, and the next %d", e.Path, e.Offset, e.Numbers)
}

// ReadError says that a [Follower] cannot list a directory, or cannot open or read
// a segment at Offset. It wraps [fs.ErrNotExist] for a directory that does not
// exist, and for a file of [FollowFiles].
type ReadError struct {
	Path   string
	Offset int64
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("read %s at byte %d: %v", e.Path, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *ReadError) Unwrap() error { return e.Err }
