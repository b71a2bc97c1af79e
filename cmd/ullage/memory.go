package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupRoot is where a container sees its own control group.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupLimits are the files that have the limit of memory, of version 2 and 1.
var cgroupLimits = []string{"memory.max", "memory/memory.limit_in_bytes"}

// softLimit is what the Go runtime may take before it collects more often: own,
// or less where the control group below root leaves less. A tenth stays free for
// what the runtime does not count. The limit is read at the start: where a pod
// was admitted with another one, or was resized since, no setting is stale.
func softLimit(root string, own int64) int64 {
	for _, name := range cgroupLimits {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit <= 0 { // "max"
			continue
		}
		return min(own, limit/10*9)
	}
	return own
}
