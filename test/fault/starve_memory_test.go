package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// mostMemory bounds what a sidecar may have resident, whatever is done to it.
const mostMemory = 32 << 20

// memory looks after all sidecars of this package.
var memory = watchMemory()

// watch knows the peak of each sidecar that was seen, by its process id.
type watch struct {
	mu    sync.Mutex
	peaks map[string]int64
}

// watchMemory looks at the children of this process, for as long as it lives.
// A process of the lab is itself this program, and does nothing here.
func watchMemory() *watch {
	w := &watch{peaks: map[string]int64{}}
	if children, _ := filepath.Glob("/proc/self/task/*/children"); len(children) > 0 && os.Getenv("ULLAGE_LAB_FLOOD") == "" && os.Getenv(tenantEnv) == "" {
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				w.look()
			}
		}()
	}
	return w
}

// look takes the peaks of all children that run ullage.
func (w *watch) look() {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(pids)) {
			if exe, err := os.Readlink("/proc/" + pid + "/exe"); err == nil && exe == lab.Binary() {
				w.take(pid)
			}
		}
	}
}

func (w *watch) take(pid string) {
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kib int64
	if _, err := fmt.Sscan(string(rest[:min(len(rest), 32)]), &kib); err != nil {
		return // it has ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peaks[pid] = max(w.peaks[pid], kib<<10)
}

// most returns the highest peak, and of how many sidecars.
func (w *watch) most() (peak int64, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.peaks {
		peak = max(peak, p)
	}
	return peak, len(w.peaks)
}
