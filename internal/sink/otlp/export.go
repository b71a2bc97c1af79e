package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

const (
	contentType = "application/x-protobuf"

	// answerBytes and answerTime bound the body of an answer.
	answerBytes = 64 << 10
	answerTime  = 10 * time.Second

	// maxRequests bounds the search for the lines that a server refuses.
	maxRequests = 64
)

// exporter is the sink.
type exporter struct {
	client  *http.Client
	to      string
	headers headers
	encoder encoder
	gzip    *gzip.Writer
	body    bytes.Buffer
}

// delivery is one call of Deliver.
type delivery struct {
	*exporter
	stream   string
	headers  []header
	requests int

	lines []int // refused lines
	some  int   // number of further refused records, which the server does not identify
	why   error
}

// Deliver implements [sink.Sink].
func (x *exporter) Deliver(ctx context.Context, b *sink.Batch) error {
	sent, err := x.headers.read()
	if err != nil {
		return err
	}
	x.encoder.batch(b, time.Now())
	d := delivery{exporter: x, stream: b.Stream, headers: sent}
	if err := d.send(ctx, 0, len(b.Lines)); err != nil {
		return err
	}
	if len(d.lines) > 0 || d.some > 0 {
		return &sink.RejectedError{Lines: d.lines, Some: d.some, Err: d.why}
	}
	return nil
}

// Close implements [sink.Sink].
func (x *exporter) Close() error {
	x.client.CloseIdleConnections()
	return nil
}

// refused is the error of a server that refuses the whole content of a request.
type refused struct{ error }

// send sends the lines with the indexes [from, to). It halves a refused request.
func (d *delivery) send(ctx context.Context, from, to int) error {
	d.requests++
	err := d.post(ctx, from, to)
	var no refused
	if !errors.As(err, &no) {
		return err
	}
	if d.why = no.error; to-from == 1 || d.requests >= maxRequests {
		for i := from; i < to; i++ {
			d.lines = append(d.lines, i)
		}
		return nil
	}
	middle := from + (to-from)/2
	if err := d.send(ctx, from, middle); err != nil {
		return err
	}
	return d.send(ctx, middle, to)
}

// post makes one request.
func (d *delivery) post(ctx context.Context, from, to int) error {
	if err := d.pack(from, to); err != nil {
		return err
	}
	resp, text, err := d.exchange(ctx)
	if err != nil {
		return err
	}
	rejected, err := judge(resp, text, time.Now())
	if rejected.count > 0 {
		d.some += min(rejected.count, to-from)
		d.why = errors.New(rejected.message)
	}
	return err
}

// exchange sends d.body. It returns the answer and at most answerBytes of the answer's body, for
// which the server has answerTime. It overwrites the values of sent headers in that body.
func (d *delivery) exchange(ctx context.Context) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.to, bytes.NewReader(d.body.Bytes()))
	if err != nil {
		return nil, nil, fmt.Errorf("make the request: %w", err)
	}
	for _, h := range d.headers {
		req.Header.Set(h.name, h.value)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "ullage")
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("send the lines: %w", err)
	}
	answer := transport.Bound(resp.Body, answerBytes, answerTime)
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer %d: %w", resp.StatusCode, err)
	}
	redact(text, d.headers)
	return resp, text, nil
}

// pack puts the compressed request into body.
func (d *delivery) pack(from, to int) error {
	begin := 0
	if from > 0 {
		begin = d.encoder.ends[from-1]
	}
	records := d.encoder.records[begin:d.encoder.ends[to-1]]
	d.body.Reset()
	if d.gzip == nil {
		d.exporter.gzip, _ = gzip.NewWriterLevel(&d.body, gzip.BestSpeed) // the level is valid
	}
	d.gzip.Reset(&d.body)
	_, err := d.gzip.Write(d.encoder.envelope(d.stream, len(records)))
	if err == nil {
		_, err = d.gzip.Write(records)
	}
	if err = errors.Join(err, d.gzip.Close()); err != nil {
		return fmt.Errorf("compress the records: %w", err)
	}
	return nil
}
