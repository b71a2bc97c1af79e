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
	// mostMemory bounds what a sidecar of few files may have in memory of its own, whatever is done to it.
	mostMemory = 24 << 20
	// mostMemoryOfMany bounds it where there are hundreds of files or more, which take
	// about 1 KiB each while they are open, and the spool as well.
	mostMemoryOfMany = 28 << 20
)

// memory watches all sidecars of this package.
var memory = watchMemory()

// watch knows the peak of each sidecar that was seen, by its process id, and which
// have a bound of their own.
type watch struct {
	mu       sync.Mutex
	peaks    map[string]int64
	excepted map[string]bool
}

// watchMemory looks at the children of this process, for as long as it lives.
// A process of the lab is itself this program, and does nothing here.
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
	id, _ := strconv.Atoi(pid) // the kernel writes numbers
	peak, err := lab.PeakMemory(id)
	if err != nil {
		return // it has ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peaks[pid] = max(w.peaks[pid], peak)
}

// except leaves out a sidecar that has a bound of its own.
func (w *watch) except(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excepted[strconv.Itoa(pid)] = true
}

// most returns the highest peak, and of how many sidecars.
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
