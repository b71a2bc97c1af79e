package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

const (
	// answerBytes bounds the body of an answer: what it says of a document, times the
	// documents of a batch, with room for reasons. answerTime bounds how long it takes.
	answerBytes = 8 << 20
	answerTime  = 30 * time.Second

	maxReason = 256 // bytes of what a server says
)

// indexer is the sink.
type indexer struct {
	client  *http.Client
	to      string
	headers transport.Headers
	encoder encoder
	gzip    *gzip.Writer
	body    bytes.Buffer
	attempt attempt
}

// attempt is what became of a batch so far.
type attempt struct {
	stream, segment string
	offset          int64

	done    []bool // by line: the server has taken it, or refused it
	refused []int
	why     error // of the last one that is refused
	wait    error // why the first line that is not done is not; nil: not tried
}

// of reports whether a is of b.
func (a *attempt) of(b *sink.Batch) bool {
	return a.stream == b.Stream && a.segment == b.Segment.Name && a.offset == b.Lines[0].Offset && len(a.done) == len(b.Lines)
}

func newAttempt(b *sink.Batch) attempt {
	return attempt{stream: b.Stream, segment: b.Segment.Name, offset: b.Lines[0].Offset, done: make([]bool, len(b.Lines))}
}

// open returns the lines that are not done.
func (a *attempt) open() (lines []int) {
	for i, done := range a.done {
		if !done {
			lines = append(lines, i)
		}
	}
	return lines
}

// refuse records that the server refuses a line for what it is.
func (a *attempt) refuse(line int, why error) {
	a.done[line], a.why = true, why
	a.refused = append(a.refused, line)
}

// Deliver implements [sink.Sink].
func (x *indexer) Deliver(ctx context.Context, b *sink.Batch) error {
	headers, err := x.headers.Read()
	if err != nil {
		return err
	}
	if !x.attempt.of(b) {
		x.attempt = newAttempt(b)
	}
	x.attempt.wait = nil
	if err := x.send(ctx, b, headers, x.attempt.open()); err != nil {
		return err
	}
	a := x.attempt
	if a.wait != nil {
		return &sink.BusyError{Err: a.wait}
	}
	x.attempt = attempt{}
	if len(a.refused) > 0 {
		slices.Sort(a.refused)
		return &sink.RejectedError{Lines: a.refused, Err: a.why}
	}
	return nil
}

// Close implements [sink.Sink].
func (x *indexer) Close() error {
	x.client.CloseIdleConnections()
	return nil
}

// errTooLarge says that a server takes no request of that size.
var errTooLarge = errors.New("the answer is 413: the request is too large")

// send sends these lines, in halves if they are too many for the server.
func (x *indexer) send(ctx context.Context, b *sink.Batch, headers []transport.Header, lines []int) error {
	err := x.post(ctx, b, headers, lines)
	switch {
	case !errors.Is(err, errTooLarge):
		return err
	case len(lines) == 1:
		x.attempt.refuse(lines[0], err)
		return nil
	}
	if err := x.send(ctx, b, headers, lines[:len(lines)/2]); err != nil {
		return err
	}
	return x.send(ctx, b, headers, lines[len(lines)/2:])
}

// post makes one request, and enters its answer into the attempt.
func (x *indexer) post(ctx context.Context, b *sink.Batch, headers []transport.Header, lines []int) error {
	if err := x.pack(b, lines); err != nil {
		return err
	}
	resp, text, err := transport.Post(ctx, x.client, x.to, "application/x-ndjson", x.body.Bytes(), headers, answerBytes, answerTime)
	if err != nil {
		return err
	}
	if err := statusError(resp, text, time.Now()); err != nil {
		return err
	}
	return x.attempt.enter(lines, text)
}

// pack puts the compressed request into body.
func (x *indexer) pack(b *sink.Batch, lines []int) error {
	x.body.Reset()
	if x.gzip == nil {
		x.gzip, _ = gzip.NewWriterLevel(&x.body, gzip.BestSpeed) // the level is valid
	}
	x.gzip.Reset(&x.body)
	for _, i := range lines {
		x.encoder.text = x.encoder.text[:0]
		x.encoder.line(b, &b.Lines[i])
		if _, err := x.gzip.Write(x.encoder.text); err != nil {
			return fmt.Errorf("compress the documents: %w", err)
		}
	}
	if err := x.gzip.Close(); err != nil {
		return fmt.Errorf("compress the documents: %w", err)
	}
	return nil
}

// statusError returns what an answer other than 200 says of the whole request.
func statusError(resp *http.Response, body []byte, now time.Time) error {
	code := resp.StatusCode
	if code == http.StatusOK {
		return nil
	}
	if code == http.StatusRequestEntityTooLarge {
		return errTooLarge
	}
	err := fmt.Errorf("the answer is %d %s: %s", code, http.StatusText(code), printable.Text(string(body), maxReason))
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		return &sink.BusyError{After: transport.RetryAfter(resp.Header, now), Err: err}
	}
	return err
}

// answer is that of the bulk API, as far as the request's filter_path lets it through.
type answer struct {
	Errors *bool `json:"errors"`
	Items  []struct {
		Create item `json:"create"`
	} `json:"items"` // one for each document
}

type item struct {
	Status int `json:"status"`
	Error  struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"error"`
}

func (i item) err() error {
	return fmt.Errorf("the answer for a document is %d %s: %s", i.Status, printable.Text(i.Error.Type, maxReason), printable.Text(i.Error.Reason, maxReason))
}

// itemElements bounds what an answer has of one document, counted as [untrusted.Elements]:
// its item has three fields with what filter_path lets through, and eleven where a proxy
// cuts off the query.
const itemElements = 16

// enter records which of these lines the server has taken or refused.
func (a *attempt) enter(lines []int, text []byte) error {
	var got answer
	if err := untrusted.Decode(text, itemElements*(len(lines)+1), &got); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if got.Errors == nil || len(got.Items) != len(lines) {
		return fmt.Errorf("the answer is not that of a bulk API: it has %d items for %d documents", len(got.Items), len(lines))
	}
	for i := range got.Items {
		switch it := got.Items[i].Create; {
		case it.Status/100 == 2 || it.Status == http.StatusConflict:
			a.done[lines[i]] = true
		case it.Status == http.StatusBadRequest && it.Error.Type != "index_closed_exception":
			a.refuse(lines[i], it.err())
		case a.wait == nil:
			a.wait = it.err()
		}
	}
	return nil
}
