package stdout

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var batch = sink.Batch{Stream: "gc.log", Segment: segment.Info{Name: "s1"}, Lines: []sink.Line{
	{Offset: 0, Text: []byte("[1s][info][gc] one"), Class: ul.Class{Level: ul.Info}},
	{Offset: 19, Text: []byte("\x1b\"two\xff"), Class: ul.Class{Level: ul.Error}},
}}

func opened(t *testing.T, w io.Writer, query string) sink.Sink {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Kind(w).Open(sink.Target{Options: address.NewOptions(values)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFormats(t *testing.T) {
	for query, want := range map[string]string{
		"": "gc.log [1s][info][gc] one\ngc.log \x1b\"two\xff\n",
		"format=json": `{"stream":"gc.log","level":"info","uid":"gc.log/s1/0","text":"[1s][info][gc] one"}` + "\n" +
			`{"stream":"gc.log","level":"error","uid":"gc.log/s1/19","text":"\u001b\"two\ufffd"}` + "\n",
	} {
		var out strings.Builder
		if err := opened(t, &out, query).Deliver(t.Context(), &batch); err != nil || out.String() != want {
			t.Errorf("%q: %q, error %v, want %q", query, out.String(), err, want)
		}
	}
}

// Nothing reads the pipe for a while. The delivery ends with its context, and its batch
// arrives once when the pipe is read again.
func TestAFullPipeBlocksNobody(t *testing.T) {
	r, w := io.Pipe()
	s := opened(t, w, "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Deliver(ctx, &batch); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the error is %v, want DeadlineExceeded", err)
	}
	got := make(chan string)
	go func() { text, _ := io.ReadAll(r); got <- string(text) }()
	if err := s.Deliver(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if text := <-got; strings.Count(text, "one") != 1 {
		t.Errorf("the batch arrived as %q, want it once", text)
	}
}

func TestUnknownFormat(t *testing.T) {
	values := url.Values{"format": {"xml"}}
	if _, err := Kind(io.Discard).Open(sink.Target{Options: address.NewOptions(values)}); err == nil {
		t.Error("an unknown format is accepted, want an error")
	}
}
