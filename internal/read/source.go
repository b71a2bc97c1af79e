package read

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
)

// Source reads one stream:
//
//	Follow or Decode → Read → Lines.Next... → Read → ... → Close
//
// It holds one frame, and the part of a line that package cut holds.
type Source struct {
	Lines cut.Lines
	Dates *clock.Dating // receives each frame; nil: no times are needed

	// Pass is called for each complete segment before its first line is read. If it returns true,
	// the segment is skipped. Nil: no segment is skipped.
	Pass func(segment.Info) bool

	dir      string
	follower *segment.Follower
	decoded  *decoded // used instead of follower for a file that no sidecar wrote
	at       string   // the name of the segment that was read last
	seq      uint64   // and its number; 0: none
	ahead    *pulled  // the frame or error that was already read; nil: none
	parked
}

// pulled is a frame or an error that a Follower has returned.
type pulled struct {
	raw []byte
	err error
}

// parked is the part of a frame that a Source keeps when it is parked.
type parked struct {
	frame int    // bytes of the frame that was read last
	kept  []byte // bytes of the frame that were not used yet
	again int    // bytes of the frame up to the end of kept; they are skipped when the frame is read again
}

// Follow reads the segments in dir or, if files is not nil, those files: see
// [segment.OpenFollower] and [segment.FollowFiles]. sealed means that the last of the files has
// a successor.
func (s *Source) Follow(dir string, files []segment.Info, sealed bool, opt segment.FollowOptions) (err error) {
	s.dir = dir
	if !opt.Since.IsZero() && s.Dates != nil && s.Dates.Timed && s.Dates.Clock.Index != nil {
		opt.Seek = s.Dates.Clock.Index()
	}
	if s.Pass != nil {
		opt.Pass = s.pass
	}
	if files != nil {
		s.follower = segment.FollowFiles(files, sealed, opt)
		return nil
	}
	s.follower, err = segment.OpenFollower(dir, opt)
	return err
}

// pass skips a segment that the caller does not want to read.
func (s *Source) pass(seg segment.Info) bool {
	if !s.Lines.Between() || !s.Pass(seg) {
		return false
	}
	s.at, s.seq = seg.Name, seg.Seq
	return true
}

// Decode reads the decompressed content of in and closes it. path is its name for errors. seg
// is the segment that in holds, or zero if in is not a segment. If seg is a segment that does not
// continue the segment read before it, the previous line ends.
func (s *Source) Decode(in io.ReadCloser, path string, how segment.Compression, seg segment.Info) error {
	s.Close()
	raw, err := segment.Decode(bufio.NewReaderSize(in, blockBytes), how)
	if err != nil {
		in.Close()
		return err
	}
	if s.enter(seg) != nil {
		s.Lines.End()
	}
	s.decoded = &decoded{in: in, raw: raw, path: path, created: seg.Start, buf: make([]byte, blockBytes)}
	return nil
}

// Opened reports whether there is something to read.
func (s *Source) Opened() bool { return s.follower != nil || s.decoded != nil }

// Read feeds Lines with the next bytes. The error is [io.EOF] if there are no more bytes for now. It
// is a [*Loss] if bytes are missing at this place: Lines then first returns the end of the line
// before the loss.
func (s *Source) Read() error {
	if s.Kept() {
		s.Lines.Feed(s.kept)
		s.kept = nil
		return nil
	}
	raw, err := s.next()
	if err != nil {
		if loss, ok := err.(*Loss); ok {
			s.again = 0 // the bytes that were to be read again may no longer be there
			if !loss.Ends() {
				s.Lines.End()
			}
		}
		return err
	}
	s.Lines.Feed(raw)
	return nil
}

// next returns the next bytes that Lines has not received.
func (s *Source) next() ([]byte, error) {
	if s.decoded != nil {
		return s.decoded.next(s.Dates)
	}
	for {
		raw, err := s.pull()
		if err != nil {
			return nil, err
		}
		if s.again == 0 { // otherwise, the frame was read before, and its segment and times were processed then
			if loss := s.enter(s.follower.Segment()); loss != nil {
				s.ahead = &pulled{raw: raw}
				return nil, loss
			}
			if s.Dates != nil {
				s.Dates.Frame(s.follower.Segment(), s.follower.Frame(), raw)
			}
		}
		s.frame = len(raw)
		n := min(s.again, len(raw))
		if s.again -= n; n < len(raw) {
			return raw[n:], nil
		}
	}
}

// pull returns the next frame or the next loss. Adjacent damaged ranges are one loss.
func (s *Source) pull() ([]byte, error) {
	p := s.ahead
	if s.ahead = nil; p == nil {
		if s.Dates != nil {
			s.Dates.Clock.Forget()
		}
		p = new(pulled)
		p.raw, p.err = s.follower.Next()
	}
	if p.err == nil || p.err == io.EOF {
		return p.raw, p.err
	}
	loss := s.lossOf(p.err)
	for loss.Kind == Damaged {
		raw, err := s.follower.Next()
		var more *segment.DamageError
		if !errors.As(err, &more) || more.Path != loss.Path || more.From != loss.To {
			s.ahead = &pulled{raw, err}
			break
		}
		loss.To = more.To
	}
	return nil, loss
}

// enter returns a loss if seg, which is about to be read, does not continue the previous
// segment.
func (s *Source) enter(seg segment.Info) *Loss {
	if seg.Name == s.at {
		return nil // true for most frames, and cheaper to find out than by parsing the name
	}
	s.at = seg.Name
	named, ok := segment.ParseName(seg.Name) // not seg.Seq: a follower of files numbers the files by their position
	if !ok || named.Seq == s.seq {
		return nil
	}
	before := s.seq
	named.Path = seg.Path
	if s.seq = named.Seq; before > 0 && named.Follows() != before {
		return &Loss{Kind: Missing, Path: seg.Path}
	}
	return nil
}

// Segment and Frame describe the bytes that were read last, as the methods of a Follower
// do.
func (s *Source) Segment() segment.Info { return s.follower.Segment() }

// Frame returns the position of the bytes that were read last.
func (s *Source) Frame() segment.Frame { return s.follower.Frame() }

// Done returns how many bytes on disk of the given segments precede the current position,
// because they were read or skipped.
func (s *Source) Done(segs []segment.Info) (n int64) {
	at := s.follower.Segment().Name
	for _, seg := range segs {
		if seg.Name == at {
			return n + min(s.follower.Frame().End, seg.Size)
		}
		n += seg.Size
	}
	return n
}

// Held returns how many bytes of a file are in memory, see [segment.Follower.Held].
func (s *Source) Held() int {
	if s.follower == nil {
		return 0
	}
	return s.follower.Held()
}

// Park closes the file and frees the memory of the frame. Up to keep bytes of the rest of the
// frame stay in memory; the others will be read again. Data that Lines has returned is no
// longer valid unless it was copied.
func (s *Source) Park(keep int) {
	if s.Dates != nil {
		s.Dates.Clock.Forget()
	}
	// A slices.Clone of zero bytes would keep the frame in memory.
	rest := s.Lines.Rest()
	s.kept = bytes.Clone(rest[:min(len(rest), keep)])
	s.Lines.Feed(nil)
	switch {
	case s.ahead != nil && s.ahead.err == nil: // the frame that follows a loss: none of it has been used yet
		s.ahead = nil
		s.follower.Rewind()
	case len(s.kept) < len(rest):
		s.again = s.frame - len(rest) + len(s.kept)
		s.follower.Rewind()
	default:
		_ = s.follower.Close() // a descriptor that was only read from
	}
}

// Kept reports whether the next Read returns bytes that Park has kept. Such a Read opens no
// file.
func (s *Source) Kept() bool { return len(s.kept) > 0 }

// Close closes the file that is being read.
func (s *Source) Close() {
	if s.follower != nil {
		_ = s.follower.Close() // a descriptor that was only read from
	}
	if s.decoded != nil {
		s.decoded.close()
		s.decoded = nil
	}
}

// blockBytes is the size of one read from a file that is decoded as a whole.
const blockBytes = 256 << 10

// decoded reads a file as one stream: a file that no sidecar wrote, whose frames can have any
// size, or an object in a bucket. Nothing after damage is read.
type decoded struct {
	in      io.Closer
	raw     io.ReadCloser
	path    string
	created time.Time
	buf     []byte
	done    int64 // bytes of decompressed content so far
	err     error // the error that ended it
}

// next returns the next bytes.
func (d *decoded) next(dates *clock.Dating) ([]byte, error) {
	for d.err == nil {
		n, err := d.raw.Read(d.buf)
		if err != nil && err != io.EOF {
			err = &Loss{Kind: Unreadable, Path: d.path, From: d.done + int64(n), Err: err}
		}
		if d.err = err; n == 0 {
			continue
		}
		raw := d.buf[:n]
		if d.done == 0 && dates != nil && dates.Timed && !d.created.IsZero() {
			dates.Clock.Point(d.created, dates.Clock.Ends(clock.FirstLine(raw)))
		}
		d.done += int64(n)
		return raw, nil
	}
	err := d.err
	d.err = io.EOF
	return nil, err
}

func (d *decoded) close() {
	_ = d.raw.Close() // the file was only read
	_ = d.in.Close()
}
