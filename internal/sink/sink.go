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
	// Deliver sends b and returns nil once the engine has acknowledged all of it. It may be called
	// again with a batch that the engine has partly stored. It must return soon after ctx ends,
	// and must not keep b or anything in it.
	//
	// After any error except a [*RejectedError], the delivery is repeated. A [*BusyError]
	// determines when.
	Deliver(ctx context.Context, b *Batch) error

	// Close releases the resources of the sink. Nothing is delivered after it.
	Close() error
}

// Identified is a [Sink] that keeps its own cursor in its engine and recognizes lines that are
// delivered again.
type Identified interface {
	// Identify names the origin of the lines: id belongs to the destination and never changes.
	// It consists of letters and digits. The worker calls Identify once, before Deliver.
	Identify(id string)
}

// Noter is a [Sink] that may keep less than its documentation promises.
type Noter interface {
	// Note returns a human-readable text about the promises that the sink does not keep. It is
	// empty if the sink keeps all promises. Note may be called from any goroutine.
	Note() string
}

// Batch is the unit of delivery: committed bytes of one segment.
type Batch struct {
	Stream  string
	Segment segment.Info

	// Lines are the lines in their order, at least one. For a sink of whole segments, Lines
	// is nil: such a sink takes the file at Segment.Path, which is sealed.
	Lines []Line

	Bytes int64 // bytes of the lines, including newlines, or, without lines, of the file on disk
}

// Line is one line of a segment. A line that is longer than a frame (see [segment.FrameBytes])
// is delivered in pieces.
type Line struct {
	Offset int64  // of its first byte among the raw bytes of the segment
	Text   []byte // without the newline

	// Time is when the line was written, in UTC, between 1970 and 2200: its date, or the estimated
	// start of its JVM plus its uptime. A line that shows neither has the time of the last earlier
	// line that does. In a stream without times, Time is about when the line became durable.
	Time time.Time
	ul.Class
}

// UID returns the permanent name of a line of b. The name is unique among the lines of its
// sidecar, and does not change if the line is delivered again.
func (b *Batch) UID(l *Line) string { return string(b.AppendUID(nil, l)) }

// AppendUID appends the UID of a line.
func (b *Batch) AppendUID(dst []byte, l *Line) []byte {
	dst = append(append(dst, b.Stream...), '/')
	dst = append(append(dst, b.Segment.Name...), '/')
	return strconv.AppendInt(dst, l.Offset, 10)
}

// BusyError is the error of an engine that asks for no deliveries for a while (HTTP: 429 or 503
// with a Retry-After).
type BusyError struct {
	After time.Duration // zero: not known
	Err   error
}

func (e *BusyError) Error() string { return fmt.Sprintf("engine is busy: %v", e.Err) }

// Unwrap returns Err.
func (e *BusyError) Unwrap() error { return e.Err }

// RejectedError is the error of an engine that refuses lines because of their content, and will
// always refuse them.
type RejectedError struct {
	// Lines are the indexes of the refused lines in the batch, in their order. Some is the
	// number of further refused lines that the engine does not name. The engine has
	// acknowledged all other lines. If both are zero, the whole batch is refused.
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

// errorKinds are all kinds of errors.
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
