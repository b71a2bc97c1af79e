package segment

import (
	"errors"
	"fmt"
)

// errTorn is why a frame cannot be decoded that is not at the end of a segment
// that grows.
var errTorn = errors.New("a frame without its end")

// DamageError says that a [Follower] passed over the bytes of a segment from From
// to To, as no frame is found in them. How many raw bytes they were is unknown.
type DamageError struct {
	Path     string
	From, To int64
	Err      error // what is wrong with the first of them
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("bytes %d-%d of %s: %v", e.From, e.To-1, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *DamageError) Unwrap() error { return e.Err }

// GoneError says that segments were deleted before a [Follower] had read them to
// their end, by retention or by hand.
type GoneError struct {
	Path   string // of one of them, or of the last one before them
	Offset int64  // how much of that was read
	Size   int64  // its size when it was last seen; 0: never. What is over Offset was missed.

	// Numbers counts the numbers behind it that no segment has. Each stands for a
	// segment that came and went unseen, but for those that a restart left out.
	Numbers uint64
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("segments deleted unread: %s from byte %d on, and %d that follow it", e.Path, e.Offset, e.Numbers)
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
