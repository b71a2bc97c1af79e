package fault

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const (
	// mostMemory is the limit of the memory of a sidecar with few files, whatever happens to it.
	mostMemory = 24 << 20
	// mostMemoryOfMany is the limit for a sidecar with hundreds of files or more. An open file takes about 1 KiB,
	// and the spool takes memory too.
	mostMemoryOfMany = 28 << 20
)

// memory watches all sidecars of this package.
var memory = watchMemory()

// watch records the peak of each sidecar, by its process id, and which sidecars have a limit of their own.
type watch struct {
	mu       sync.Mutex
	peaks    map[string]int64
	excepted map[string]bool
}

// watchMemory samples the children of this process while it runs. In a process that a test started from this
// program, it does nothing.
func watchMemory() *watch {
	w := &watch{peaks: map[string]int64{}, excepted: map[string]bool{}}
	if children, _ := filepath.Glob("/proc/self/task/*/children"); len(children) > 0 && os.Getenv("ULLAGE_LAB_FLOOD") == "" && os.Getenv(tenantEnv) == "" {
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				w.look()
			}
		}()
	}
	return w
}

// look records the peaks of all children that run ullage.
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
	id, _ := strconv.Atoi(pid) // the kernel writes numbers
	peak, err := lab.PeakMemory(id)
	if err != nil {
		return // the process has ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peaks[pid] = max(w.peaks[pid], peak)
}

// except leaves out a sidecar that has a limit of its own.
func (w *watch) except(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excepted[strconv.Itoa(pid)] = true
}

// most returns the highest peak and the number of sidecars.
func (w *watch) most() (peak int64, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, p := range w.peaks {
		if !w.excepted[pid] {
			peak = max(peak, p)
			count++
		}
	}
	return peak, count
}
