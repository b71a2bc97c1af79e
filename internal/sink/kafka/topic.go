package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ullage/ullage/internal/sink"
)

const (
	mostBytes  = 256 << 10 // of lines in a transaction; a single line may have more
	leastBytes = 4 << 10   // of lines in a transaction: a slow broker never lowers the limit below this
	mostRecord = 999_000   // bytes of a line: with its key and headers, it fits into batchBytes
	deniedFor  = time.Minute * 10
)

// topic is the sink of one topic.
type topic struct {
	target  string // the sink's name
	name    string
	id      string // of the destination
	options []kgo.Opt
	records records

	limit   int // bytes of lines in the next transaction
	most    int // the bound on limit
	ceiling int // the most bytes of a line that the topic accepts

	session *session // nil: no session is open
	denied  time.Time
	note    atomic.Pointer[string] // why lines may be sent twice; nil: each is sent once
}

// Identify implements [sink.Identified].
func (s *topic) Identify(id string) { s.id = id }

// Note implements [sink.Noter].
func (s *topic) Note() string {
	if note := s.note.Load(); note != nil {
		return *note
	}
	return ""
}

// Deliver implements [sink.Sink]. Each committed transaction is progress even if a later one
// fails, because it moves the reach of the stream.
func (s *topic) Deliver(ctx context.Context, b *sink.Batch) error {
	for from := 0; from < len(b.Lines); {
		to, bytes := s.chunk(b, from)
		if err := s.transact(ctx, b, from, to); err != nil {
			return s.failed(ctx, err, to-from, bytes)
		}
		s.limit = min(2*s.limit, s.most)
		from = to
	}
	return s.refused(b)
}

// Close implements [sink.Sink].
func (s *topic) Close() error {
	s.end()
	return nil
}

// chunk returns the end of the lines for the next transaction, and their bytes.
func (s *topic) chunk(b *sink.Batch, from int) (to, bytes int) {
	for to = from; to < len(b.Lines); to++ {
		n := len(b.Lines[to].Text)
		if to > from && bytes+n > s.limit {
			break
		}
		bytes += n
	}
	return to, bytes
}

// fits reports whether the topic accepts a line.
func (s *topic) fits(l *sink.Line) bool { return len(l.Text) <= s.ceiling }

// refused returns an error that names the lines of b that are too large for the topic. The
// error depends only on the lines, so that it is the same when the batch is repeated.
func (s *topic) refused(b *sink.Batch) error {
	var large []int
	for i := range b.Lines {
		if !s.fits(&b.Lines[i]) {
			large = append(large, i)
		}
	}
	if large == nil {
		return nil
	}
	return &sink.RejectedError{Lines: large, Err: fmt.Errorf("a line of more than %d bytes is too large for topic %s (max.message.bytes)", s.ceiling, s.name)}
}

// transact sends the lines b.Lines[from:to] that the broker does not have.
func (s *topic) transact(ctx context.Context, b *sink.Batch, from, to int) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if s.session != nil && !s.session.exact && time.Since(s.denied) > deniedFor {
		s.end() // the next session tries transactions again
	}
	for {
		if s.session == nil {
			if err := s.begin(ctx); err != nil {
				return err
			}
		}
		at, err := s.session.reached(ctx, b.Stream)
		if err != nil {
			return err
		}
		now := time.Now().Truncate(time.Millisecond)
		records := s.records.of(b, from, to, func(l *sink.Line) bool { return s.fits(l) && !at.has(&b.Segment, l.Offset) }, now)
		if len(records) == 0 {
			return nil
		}
		err = s.session.send(ctx, records, b.Stream, reach{segment: b.Segment.Name, last: b.Lines[to-1].Offset})
		if !errors.Is(err, errNotEnded) {
			return err
		}
		s.end() // the next session sends the records again
	}
}

// begin opens a session, with transactions unless they were recently denied.
func (s *topic) begin(ctx context.Context) error {
	exact := s.denied.IsZero() || time.Since(s.denied) > deniedFor
	session, err := newSession(ctx, s.options, s.name, "ullage-"+s.id+"-"+s.target, exact)
	if err != nil {
		return err
	}
	s.session = session
	if exact {
		s.note.Store(nil)
	}
	return nil
}

// end ends the session. The next session asks for the reaches again.
func (s *topic) end() {
	if s.session != nil {
		s.session.close()
		s.session = nil
	}
}

// failed ends the session after err. It returns the error for the worker. lines and bytes are
// the size of the failed transaction.
func (s *topic) failed(ctx context.Context, err error, lines, bytes int) error {
	s.end()
	var denial *deniedError
	switch {
	case errors.As(err, &denial):
		s.denied = time.Now()
		note := fmt.Sprintf("at least once: the broker denies transactions (%v)", denial.err)
		s.note.Store(&note)
	case errors.Is(err, kerr.MessageTooLarge) && lines == 1:
		s.ceiling = min(s.ceiling, bytes-1)
	case errors.Is(err, kerr.MessageTooLarge):
		s.most = max(bytes/2, 1) // a transaction has at least one line
		s.limit = min(s.limit, s.most)
	case errors.Is(err, kerr.InvalidTimestamp):
		err = fmt.Errorf("topic %s refuses the time of a line (message.timestamp.before.max.ms, message.timestamp.after.max.ms): change the topic, or use timestamp=send: %w", s.name, err)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		s.limit = max(s.limit/2, leastBytes)
	}
	return fmt.Errorf("produce to topic %s: %w", s.name, err)
}
