// Package stdout is the sink for clusters whose node agent takes logs from the standard
// output of containers.
//
//	stdout:              each line as it is, after the name of its stream and a space
//	stdout:?format=json  one JSON object for each line: stream, level, uid, text
//
// After a kill of the sidecar, some lines may be written twice. They have the same uid, which
// consists of stream, segment and offset.
package stdout

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

// Kind returns a kind whose sinks write to w. Nothing else may write to w. A write that blocks
// blocks only this sink, and may block even after Close: a write cannot be canceled. w must not be
// descriptor 1: once nothing reads it, the runtime ends a process that writes to it.
func Kind(w io.Writer) sink.Kind {
	return sink.Kind{Open: func(t sink.Target) (sink.Sink, error) { return open(t, w) }}
}

// output writes lines. At most one write is in progress, in its own goroutine.
type output struct {
	to     io.Writer
	asJSON bool
	text   []byte
	wrote  chan error // the result of the write in progress; nil: there is none
}

func open(t sink.Target, w io.Writer) (sink.Sink, error) {
	given, err := address.ParseStdout(t.URL, &t.Options)
	if err != nil {
		return nil, err
	}
	return &output{to: w, asJSON: given.JSON}, nil
}

// object is a line as JSON.
type object struct {
	Stream string `json:"stream"`
	Level  string `json:"level"`
	UID    string `json:"uid"`
	Text   string `json:"text"`
}

// Deliver implements [sink.Sink]. A batch is acknowledged once the pipe has it.
// If ctx ends while a write is blocked, the next call, which has the same batch, waits
// for that write.
func (o *output) Deliver(ctx context.Context, b *sink.Batch) error {
	if o.wrote == nil {
		if err := o.render(b); err != nil {
			return err
		}
		o.wrote = make(chan error, 1)
		go func(text []byte, wrote chan<- error) {
			_, err := o.to.Write(text)
			wrote <- err
		}(o.text, o.wrote)
	}
	select {
	case err := <-o.wrote:
		o.wrote = nil
		if err != nil {
			return fmt.Errorf("write to the standard output: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write to the standard output: nothing reads it: %w", ctx.Err())
	}
}

// render puts the lines of b into text.
func (o *output) render(b *sink.Batch) error {
	o.text = o.text[:0]
	for i := range b.Lines {
		l := &b.Lines[i]
		if !o.asJSON {
			o.text = append(append(append(append(o.text, b.Stream...), ' '), l.Text...), '\n')
			continue
		}
		line, err := json.Marshal(object{Stream: b.Stream, Level: l.Level.String(), UID: b.UID(l), Text: string(l.Text)})
		if err != nil {
			return fmt.Errorf("encode a line as JSON: %w", err)
		}
		o.text = append(append(o.text, line...), '\n')
	}
	return nil
}

// Close implements [sink.Sink].
func (o *output) Close() error { return nil }
