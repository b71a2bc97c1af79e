package kernel

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// root is where a container finds its own control group.
const root = "/sys/fs/cgroup"

// limits are the files with the memory limit, of version 2 and 1.
var limits = []string{"memory.max", "memory/memory.limit_in_bytes"}

// SoftLimit returns how much memory the Go runtime may use before it collects more often: own,
// or less if the control group allows less. A tenth stays free for what the runtime does not
// count. The limit is read at the start, so a change of the pod's limit at admission, or by an
// earlier resize, is taken into account.
func SoftLimit(own int64) int64 { return softLimit(root, own) }

func softLimit(root string, own int64) int64 {
	for _, name := range limits {
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
