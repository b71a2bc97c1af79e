package sidecar

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	startTakes   = time.Second            // after this, pages of the program are given back that only the start needed
	releaseEvery = 5 * time.Second        // ... and so often what else is needed rarely
	ticksTake    = 100 * time.Millisecond // after this, what was due at the same moment is done
	collectEvery = 12                     // and garbage with each so many of these times
)

// settle gives memory back until ctx ends: garbage, and the pages of the program that are
// needed rarely. They are more than half of an idle sidecar's resident memory. A page that
// is needed again comes from the page cache.
//
// settle does so at once, since the initialization of the packages touches most of the
// program, and a source with thousands of files takes most of the heap in its first second;
// when the start is over; when the writer rests after its first lines; and every minute.
// A collection of garbage needs pages that nothing else does, those that describe the stacks:
// so the program's are given back afterwards, and more often than the garbage, which costs
// 50 µs: right after the moment at which the tickers of this process with the longer
// intervals tick (see package kernel), whose work needs the most pages.
func settle(ctx context.Context, log *slog.Logger) {
	tick, next := kernel.NewTicker(releaseEvery), kernel.NewTimer(startTakes)
	defer tick.Stop()
	defer next.Stop()
	pages, err := programPages()
	for n := 0; ; n++ {
		if n <= 3 || n%collectEvery == 0 {
			debug.FreeOSMemory()
		}
		if err == nil {
			err = pages.release()
		}
		if err != nil {
			log.Warn("giving back memory failed", "error", err, "hint", "the sidecar keeps some MiB more; all else works")
			return
		}
		if n > 0 {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			next.Reset(ticksTake)
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// pages are mappings of the program none of whose pages have other bytes than the file.
type pages []struct{ from, to uintptr }

// programPages returns those of this process.
func programPages() (pages, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, fmt.Errorf("list the mappings: %w", err)
	}
	defer maps.Close()
	var found pages
	var from, to uintptr // of the mapping that the lines are about, if it is the program's
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		line := lines.Text()
		var begin, end uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &rights); n == 3 {
			from, to = 0, 0
			if strings.HasSuffix(line, " "+program) && !strings.Contains(rights, "w") {
				from, to = begin, end
			}
		}
		if from < to && strings.HasPrefix(line, "Anonymous:") && strings.HasSuffix(line, " 0 kB") {
			found = append(found, struct{ from, to uintptr }{from, to})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list the mappings: %w", err)
	}
	return found, nil
}

// release unmaps the pages.
func (p pages) release() error {
	for _, m := range p {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages of the program: %w", errno)
		}
	}
	return nil
}
