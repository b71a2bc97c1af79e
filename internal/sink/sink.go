package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

// Sink delivers batches to one engine. A worker calls Deliver from one goroutine, and
// Close last.
type Sink interface {
	// Deliver sends b, and returns nil once the engine has acknowledged all of it. It
	// may be called again with a batch that the engine has taken in part. It must
	// return soon after ctx ends, and must not keep b or anything in it.
	//
	// An error is repeated, but for a [*RejectedError]. A [*BusyError] says when.
	Deliver(ctx context.Context, b *Batch) error

	// Close releases what the sink holds. Nothing is delivered after it.
	Close() error
}

// Identified is a [Sink] that keeps a cursor of its own in its engine, and knows lines
// there that are delivered again.
type Identified interface {
	// Identify says whose lines are delivered: id belongs to the destination, and stays
	// with it. It has letters and digits. The worker calls it once, before Deliver.
	Identify(id string)
}

// Noter is a [Sink] that may have to promise less than its documentation does.
type Noter interface {
	// Note returns for people where the sink falls short of its promises; empty:
	// nowhere. It may be called from any goroutine.
	Note() string
}

// Batch is what a sink gets at once: committed bytes of one segment.
type Batch struct {
	Stream  string
	Segment segment.Info

	// Lines are in their order, at least one. Nil for a sink of whole segments: it
	// takes the file at Segment.Path, which is sealed.
	Lines []Line

	Bytes int64 // of the lines, newlines included; of the file, as it is on disk
}

// Line is one line of a segment. A line that is longer than a frame, see
// [segment.FrameBytes], comes in pieces.
type Line struct {
	Offset int64  // of its first byte among the raw bytes of the segment
	Text   []byte // without the newline

	// Time is when the line was written, in UTC, between 1970 and 2200: its date, or the
	// start of its JVM plus its uptime, where the start is estimated. A line that shows
	// neither has the time of the last line before it that does. In a stream without
	// times, it is about when the line became durable.
	Time time.Time
	ul.Class
}

// UID returns what identifies a line of b permanently among those of its sidecar, also
// when it is delivered again.
func (b *Batch) UID(l *Line) string { return string(b.AppendUID(nil, l)) }

// AppendUID appends the UID of a line.
func (b *Batch) AppendUID(dst []byte, l *Line) []byte {
	dst = append(append(dst, b.Stream...), '/')
	dst = append(append(dst, b.Segment.Name...), '/')
	return strconv.AppendInt(dst, l.Offset, 10)
}

// BusyError says that an engine wants no delivery for a while (HTTP: 429 or 503 with a
// Retry-After).
type BusyError struct {
	After time.Duration // zero: not known
	Err   error
}

func (e *BusyError) Error() string { return fmt.Sprintf("engine is busy: %v", e.Err) }

// Unwrap returns Err.
func (e *BusyError) Unwrap() error { return e.Err }

// RejectedError says that an engine refuses lines because of their content, and always will.
type RejectedError struct {
	// Lines are the indexes of the lines in the batch that are refused, in their order, and
	// Some is how many more are refused, where the engine does not say which. It has
	// acknowledged all others. If both are zero, the whole batch is refused.
	Lines []int
	Some  int
	Err   error
}

func (e *RejectedError) Error() string { return fmt.Sprintf("engine rejects: %v", e.Err) }

// Unwrap returns Err.
func (e *RejectedError) Unwrap() error { return e.Err }

// The kinds of errors, as metrics and the status spell them.
const (
	kindBusy        = "busy"
	kindRejected    = "rejected"
	kindTimeout     = "timeout"
	kindUnavailable = "unavailable" // everything else: no connection, no permission, a server error
)

// errorKinds are all of them.
var errorKinds = []string{kindBusy, kindRejected, kindTimeout, kindUnavailable}

func kindOf(err error) string {
	var busy *BusyError
	var rejected *RejectedError
	switch {
	case errors.As(err, &busy):
		return kindBusy
	case errors.As(err, &rejected):
		return kindRejected
	case errors.Is(err, context.DeadlineExceeded):
		return kindTimeout
	}
	return kindUnavailable
}
