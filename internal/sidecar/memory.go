package sidecar

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	startTakes = time.Second // after this time, memory that only the start needed is freed
	mostKept   = time.Minute // the longest time for which garbage is kept
)

// giveBack returns the memory of garbage to the system until ctx ends. It first does so when the
// start is over, because a source with thousands of files makes the heap largest in the first
// second. It does so again ten seconds later, when the writer rests after its first lines, and then
// every minute. The pages of the program stay mapped. They are in the page cache, from which the
// kernel can take them at any time. If a page were unmapped and touched again, it would be part of
// the container's working set for a long time.
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
