package insight

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// vmThread is the name of the thread of HotSpot that stops the application and writes the lines
	// of most stops. It is among the first threads of a JVM.
	vmThread   = "VM Thread"
	maxThreads = 64

	maxFunction = 48 // bytes of the name of a kernel function
)

// process is a visible JVM.
type process struct {
	dir    string // in the kernel's proc
	thread string // the directory of its VM thread; empty: not found
}

// work is what the kernel shows of the visible JVMs at one time.
type work struct {
	faults int64 // major page faults; negative: unknown

	// function is the kernel function in which a VM thread waits and cannot be interrupted, as for a
	// disk. It is padded with zeros; zero: none of them waits so.
	function [maxFunction]byte
}

// processOf returns the JVM with a process ID.
func (k kernelCounters) processOf(id string) process {
	p := process{dir: filepath.Join("proc", id)}
	dir, err := os.Open(filepath.Join(k.root, p.dir, "task"))
	if err != nil {
		return p
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(maxThreads)
	for _, id := range threads {
		thread := filepath.Join(p.dir, "task", id)
		if strings.TrimSpace(string(k.read(filepath.Join(thread, "comm")))) == vmThread {
			p.thread = thread
			break
		}
	}
	return p
}

// work reads what the kernel shows of the JVMs. It costs two small files for each of them.
func (k kernelCounters) work(jvms []process) work {
	w := work{faults: -1}
	for i, p := range jvms {
		if _, faults, ok := k.stat(p.dir); ok && (i == 0 || w.faults >= 0) {
			w.faults = max(0, w.faults) + faults
		} else {
			w.faults = -1
		}
		if state, _, ok := k.stat(p.thread); ok && state == 'D' && w.function[0] == 0 {
			name := bytes.TrimSpace(k.read(filepath.Join(p.thread, "wchan")))
			if isName(name) && string(name) != "0" && len(name) <= maxFunction { // the kernel may show 0
				copy(w.function[:], name)
			}
		}
	}
	return w
}

// stat returns the state of a thread, and the major page faults of it or of its whole process: see
// proc_pid_stat(5). The name of the thread, which is in brackets, may have any characters.
func (k kernelCounters) stat(dir string) (state byte, faults int64, ok bool) {
	if dir == "" {
		return 0, 0, false
	}
	text := k.read(filepath.Join(dir, "stat"))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 10 {
		return 0, 0, false
	}
	faults, err := strconv.ParseInt(string(fields[9]), 10, 64)
	return fields[0][0], faults, err == nil && faults >= 0
}

// workEvidence describes what the kernel showed of the JVMs in some samples, or returns "".
func workEvidence(samples []*sample) string {
	var said []string
	if i := slices.IndexFunc(samples, func(s *sample) bool { return s.work.function[0] != 0 }); i >= 0 {
		said = append(said, fmt.Sprintf("a VM thread waited in the kernel function %s", bytes.TrimRight(samples[i].work.function[:], "\x00")))
	}
	from, to := samples[0], samples[len(samples)-1]
	if n := to.work.faults - from.work.faults; from.set == to.set && from.work.faults >= 0 && n > 0 {
		said = append(said, fmt.Sprintf("%d major page faults of the JVM", n))
	}
	return strings.Join(said, "; ")
}
