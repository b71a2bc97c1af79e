package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/segment"
)

const (
	// A delivery without an answer ends after attemptTimeout, plus the time that its bytes take at
	// the rate slowest, in bytes per second.
	attemptTimeout = time.Minute
	slowest        = 16 << 10
)

// The results of deliver.
const (
	delivered = iota // the batch was acknowledged or set aside
	deleted          // retention has deleted the segment of the batch
	stopped          // stop has ended
)

// deliver hands b to the sink until b is acknowledged or set aside, or neither is possible. The
// drain begins when ctx ends.
func (w *worker) deliver(ctx, stop context.Context, b *Batch) int {
	for {
		err := w.attempt(stop, b)
		var rejected *RejectedError
		switch {
		case err == nil:
			w.acknowledged(b.Bytes, len(b.Lines))
			return delivered
		case stop.Err() != nil:
			return stopped
		case errors.As(err, &rejected):
			w.fail(err)
			w.setAside(b, rejected)
			return delivered
		case w.segments && gone(b.Segment.Path):
			return deleted
		}
		w.fail(err)
		if pause(ctx, stop, w.backoff.after(err)) != nil {
			return stopped
		}
	}
}

// gone reports whether a segment was deleted. The error of a delivery does not say so: a file of
// credentials may not exist either.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// attempt tries once. It allows the time that a slow server needs for the bytes of b.
func (w *worker) attempt(stop context.Context, b *Batch) error {
	ctx, cancel := context.WithTimeout(stop, attemptTimeout+time.Duration(b.Bytes/slowest)*time.Second)
	defer cancel()
	return w.sink.Deliver(ctx, b)
}

// acknowledged counts the bytes and lines that the engine has taken. It also records that the sink
// works.
func (w *worker) acknowledged(bytes int64, lines int) {
	if w.segments {
		w.metrics.segments.Inc()
	}
	w.metrics.lines.Add(float64(lines))
	w.metrics.bytes.Add(float64(bytes))
	w.state.mu.Lock()
	w.state.counts.Lines += int64(lines)
	w.state.counts.Bytes += bytes
	if w.segments {
		w.state.counts.Segments++
	}
	w.state.mu.Unlock()
	w.recovered()
}

// recovered records that the sink works. If the sink failed before, recovered logs that it works again.
func (w *worker) recovered() {
	w.backoff.Reset()
	w.state.mu.Lock()
	failed := w.state.failure != nil
	w.state.failure = nil
	w.state.mu.Unlock()
	if failed {
		// messages.md#sinks: After an error, the sink acknowledges lines again, or its cursor can
		// be read.
		w.log.Info("sink works again")
	}
}

// fail counts an error and logs it unless told suppresses it. It bounds the text of the error, which
// may come from a server.
func (w *worker) fail(err error) {
	w.metrics.errors.WithLabelValues(kindOf(err)).Inc()
	text := printable.Text(err.Error(), maxReason)
	w.state.mu.Lock()
	first := w.state.failure == nil
	w.state.failure = errors.New(text)
	w.state.mu.Unlock()
	if w.told.tells(text, first, time.Now()) {
		// messages.md#sinks: A delivery failed; `error` has the reason. The sidecar retries after a
		// pause. Another reason is logged at most once a minute. The durable copy keeps the lines.
		w.log.Warn("sink fails", "error", text, "hint", "the durable copy keeps the lines; a retry follows")
	}
}

// told is the failure that was logged last. The zero value means that no failure was logged.
type told struct {
	text string
	at   time.Time
}

// tells reports whether to log a failure. The first failure after a success is logged, and then failures with another
// reason, at most once a minute: the first may be a mere network delay at the start of a pod, and the next a wrong
// certificate.
func (t *told) tells(text string, first bool, now time.Time) bool {
	if !first && (text == t.text || now.Sub(t.at) < time.Minute) {
		return false
	}
	*t = told{text, now}
	return true
}

// skip counts a segment that was deleted before the sink had all of it.
func (w *worker) skip(info segment.Info) {
	w.metrics.skippedSegments.Inc()
	w.metrics.skippedBytes.Add(float64(info.Size))
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	w.state.counts.SkippedSegments++
}

// maxReason bounds the text of an error, in bytes.
const maxReason = 1024

// asideBytes bounds the list of refused lines. Entries that do not fit are only counted.
const asideBytes = 1 << 20

// aside is the list of a sink's refused lines, as ranges: one JSON object per line. The refused
// lines themselves are in the segments.
type aside struct {
	state files
	name  string
}

// refusedRange is one entry of aside.
type refusedRange struct {
	Time    time.Time `json:"time"`
	Stream  string    `json:"stream"`
	Segment string    `json:"segment"`
	From    int64     `json:"from"` // offset of the first line among the raw bytes of the segment
	Lines   int       `json:"lines"`
	Bytes   int64     `json:"bytes"`
	Among   int       `json:"among,omitempty"` // the engine refuses Lines of this many lines without saying which; Bytes is an estimate
	Error   string    `json:"error"`
}

// setAside lists and counts the lines of b that the engine refuses.
func (w *worker) setAside(b *Batch, why *RejectedError) {
	r := refusedRange{Time: time.Now().UTC(), Stream: b.Stream, Segment: b.Segment.Name, Lines: len(b.Lines), Bytes: b.Bytes, Error: printable.Text(why.Err.Error(), 512)}
	if len(b.Lines) > 0 {
		r.From = b.Lines[0].Offset
	}
	switch n := len(why.Lines); {
	case why.Some > 0:
		r.Among, r.Lines = r.Lines, min(n+why.Some, r.Lines)
		r.Bytes = r.Bytes * int64(r.Lines) / int64(max(r.Among, 1))
	case n > 0:
		r.From, r.Lines, r.Bytes = b.Lines[why.Lines[0]].Offset, n, 0
		for _, i := range why.Lines {
			r.Bytes += int64(len(b.Lines[i].Text)) + 1
		}
	}
	w.metrics.rejectedLines.Add(float64(r.Lines))
	w.metrics.rejectedBytes.Add(float64(r.Bytes))
	w.state.mu.Lock()
	w.state.counts.RejectedLines += int64(r.Lines)
	w.state.counts.RejectedBytes += r.Bytes
	w.state.mu.Unlock()
	if taken := len(b.Lines) - r.Lines; taken > 0 {
		w.acknowledged(b.Bytes-r.Bytes, taken)
	}
	if err := w.aside.add(r); err != nil {
		// messages.md#sinks: The list of refused lines is full or cannot be written. The lines are
		// counted, and stay in the segments.
		w.log.Warn("recording refused lines failed", "error", err, "stream", r.Stream, "segment", r.Segment, "from", r.From, "lines", r.Lines)
	}
}

func (a aside) add(r refusedRange) error {
	f, err := a.state.list(a.name)
	if err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	defer f.Close()
	text, _ := json.Marshal(r) // cannot fail: r consists of texts and numbers
	info, err := f.Stat()
	if err != nil || info.Size()+int64(len(text)) > asideBytes {
		return errors.Join(err, errors.New("set aside: the list is full"))
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	return nil
}
