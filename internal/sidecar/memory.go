package sidecar

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	startTakes = time.Second // after this, memory is freed that only the start needed
	mostKept   = time.Minute // the longest for which garbage is kept
)

// giveBack returns the memory of garbage to the system until ctx ends: when the start is
// over, since a source with thousands of files takes most of the heap in its first second;
// ten seconds later, when the writer rests after its first lines; and every minute. The pages
// of the program stay mapped. They are in the page cache, which the kernel takes back at
// will, and a page that is unmapped and touched again counts for long as one that the
// container needs.
func giveBack(ctx context.Context) {
	next := kernel.NewTimer(startTakes)
	defer next.Stop()
	for wait := startTakes; ; next.Reset(wait) {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		debug.FreeOSMemory()
		wait = min(10*wait, mostKept)
	}
}
