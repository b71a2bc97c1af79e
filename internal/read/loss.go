package read

import (
	"errors"
	"fmt"
	"os"

	"github.com/ullage/ullage/internal/segment"
)

// Kind is the kind of a [Loss].
type Kind uint8

// The kinds.
const (
	Damaged    Kind = iota // the bytes from From to To do not decode
	Missing                // the segment does not follow the previous one
	Deleted                // segments were deleted before they were read
	Unreadable             // the file cannot be opened, or cannot be read at From, and is skipped
	Incomplete             // the frame from From to To, the end of the file, is not complete yet
	Unlisted               // the directory of the stream cannot be listed
)

// Loss describes a part of a stream that was not read. It is returned where its bytes would
// have been.
type Loss struct {
	Kind     Kind
	Path     string
	From, To int64  // bytes on disk or, if the file is decoded as a whole, bytes of its decompressed content
	Numbers  uint64 // for Deleted: see [segment.GoneError]
	Err      error  // nil: Kind says it all
}

// Ends reports whether nothing more can be read for now.
func (l *Loss) Ends() bool { return l.Kind == Incomplete || l.Kind == Unlisted }

// Error implements error.
func (l *Loss) Error() string {
	switch l.Kind {
	case Damaged:
		return (&segment.DamageError{Path: l.Path, From: l.From, To: l.To, Err: l.Err}).Error()
	case Missing:
		return "segments are missing before " + l.Path
	case Deleted:
		return l.Path + " was deleted before it was read"
	case Incomplete:
		return fmt.Sprintf("%d bytes at the end of %s are not complete yet", l.To-l.From, l.Path)
	}
	return (&segment.ReadError{Path: l.Path, Offset: l.From, Err: l.Err}).Error()
}

// Unwrap returns Err.
func (l *Loss) Unwrap() error { return l.Err }

// lossOf turns an error of the Follower into a Loss and skips the part that cannot be
// read.
func (s *Source) lossOf(err error) *Loss {
	var damage *segment.DamageError
	var gone *segment.GoneError
	var torn *segment.TornError
	var read *segment.ReadError
	switch {
	case errors.As(err, &damage):
		return &Loss{Kind: Damaged, Path: damage.Path, From: damage.From, To: damage.To, Err: damage.Err}
	case errors.As(err, &gone):
		return &Loss{Kind: Deleted, Path: gone.Path, From: gone.Offset, To: gone.Size, Numbers: gone.Numbers}
	case errors.As(err, &torn):
		return &Loss{Kind: Incomplete, Path: torn.Path, From: torn.Offset, To: max(torn.Offset, statSize(torn.Path))}
	case errors.As(err, &read) && read.Path != s.dir:
		s.follower.Skip()
		return &Loss{Kind: Unreadable, Path: read.Path, From: read.Offset, Err: read.Err}
	case errors.As(err, &read):
		return &Loss{Kind: Unlisted, Path: read.Path, Err: read.Err}
	}
	return &Loss{Kind: Unlisted, Path: s.dir, Err: err}
}

// statSize returns the size of a file, or 0.
func statSize(path string) int64 {
	stat, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return stat.Size()
}
