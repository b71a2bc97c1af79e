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
)

const (
	settleAfter = time.Second // how long the start takes: settings, open files, the first reads
	settleEvery = time.Minute // so often memory is given back later
)

// settle gives memory back until ctx ends: garbage, and the pages of the program that are
// needed rarely. They are more than half of an idle sidecar's resident memory. A page that
// is needed again comes from the page cache. settle does so at once, since the
// initialization of the packages touches most of the program, and a source with thousands
// of files takes most of the heap in its first second; when the start is over; and every
// minute, after what came up meanwhile.
func settle(ctx context.Context, log *slog.Logger) {
	next := time.NewTimer(settleAfter)
	defer next.Stop()
	for release(log) {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			next.Reset(settleEvery)
		}
	}
}

// release gives back what [settle] says, and reports whether that can be done here.
func release(log *slog.Logger) bool {
	debug.FreeOSMemory()
	err := releaseProgram()
	if err != nil {
		log.Warn("giving back memory failed", "error", err, "hint", "the sidecar keeps some MiB more; all else works")
	}
	return err == nil
}

// releaseProgram unmaps the pages of the executable, where no page of a mapping has other
// bytes than the file.
func releaseProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("list the mappings: %w", err)
	}
	defer maps.Close()
	var from, to uintptr // of the mapping that the lines are about, if it is the program's
	for lines := bufio.NewScanner(maps); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return fmt.Errorf("list the mappings: %w", err)
			}
			return nil
		}
		line := lines.Text()
		var begin, end uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &rights); n == 3 {
			from, to = 0, 0
			if strings.HasSuffix(line, " "+program) && !strings.Contains(rights, "w") {
				from, to = begin, end
			}
		}
		if from == to || !strings.HasPrefix(line, "Anonymous:") || !strings.HasSuffix(line, " 0 kB") {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages of the program: %w", errno)
		}
	}
}
