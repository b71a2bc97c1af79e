package ship

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// CatchUp returns once everything that was written before the call has been read, both in a known
// file and in a new one. Without CatchUp, the reader looks at files only now and then.
func TestCatchUpWaitsForWhatIsWritten(t *testing.T) {
	b := newBench(t)
	var read atomic.Int64
	b.to.Source.Line = func(string, []byte, ul.Class) { read.Add(1) }
	b.start()
	for n := range int64(200) {
		b.appendTo("gc.log", lines(int(n), int(n)+1))
		b.appendTo(fmt.Sprintf("gc-%d.log", n%20), "[1.000s][info][gc] line "+strconv.FormatInt(n, 10)+"\n")
		b.ship.CatchUp(t.Context())
		if got := read.Load(); got != 2*(n+1) {
			t.Fatalf("%d lines have been read, want %d", got, 2*(n+1))
		}
	}
	b.drain()
}

// The wait ends with its context, whether or not there is a reader.
func TestCatchUpEndsWithItsContext(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	b := newBench(t)
	b.start()
	b.ship.CatchUp(over)
	b.drain()
	after, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	b.ship.CatchUp(after)
}
