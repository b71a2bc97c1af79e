package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupRoot is where a container finds its own control group.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupLimits are the files with the memory limit, of version 2 and 1.
var cgroupLimits = []string{"memory.max", "memory/memory.limit_in_bytes"}

// softLimit returns how much memory the Go runtime may use before it collects
// more often: own, or less if the control group below root allows less. A tenth
// stays free for what the runtime does not count. The limit is read at the
// start, so it is right even for a pod whose limit was changed at admission or
// by a resize.
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
