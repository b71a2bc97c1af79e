package cat

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// A busy JVM writes hundreds of lines between the count of the last lines and their printing.
func TestTheLastLinesAreThoseThatWereCounted(t *testing.T) {
	for _, follow := range []bool{false, true} {
		d := newShipped(t, segment.Zstd)
		stream := d.restart("gc.log", segment.Mark{})
		lines := func(from, to int) string {
			var b strings.Builder
			for i := from; i < to; i++ {
				fmt.Fprintf(&b, "[%d.000s][info][gc] %d\n", i, i)
			}
			return b.String()
		}
		d.append(stream, lines(0, 10))
		d.sync(stream)
		var stdout, stderr bytes.Buffer
		p := New(Config{Tail: 3, Follow: follow}, &stdout, &stderr)
		for _, err := range p.Find([]string{filepath.Join(d.dir, "gc.log")}) {
			t.Fatal(err)
		}
		d.must(p.seekTail(context.Background()))
		d.append(stream, lines(10, 400))
		d.sync(stream)
		d.must(p.pass(context.Background()))
		d.must(p.end())
		want := lines(7, 10)
		if follow {
			want = lines(7, 400)
		}
		if got := stdout.String(); got != want || p.Failed() {
			t.Errorf("follow %v: printed %d lines, want %d; %s", follow, strings.Count(got, "\n"), strings.Count(want, "\n"), stderr.String())
		}
	}
}
