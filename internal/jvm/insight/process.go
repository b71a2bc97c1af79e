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
	dir    string // its directory, such as proc/42, relative to the root of the kernel's files
	thread string // the directory of its VM thread, also relative to that root; empty: not found
}

// work is what the kernel shows of the visible JVMs at one time.
type work struct {
	faults int64 // major page faults; negative: unknown

	// function is the kernel function in which a VM thread waits uninterruptibly, for example for a
	// disk. It is padded with zeros; all zeros: no such function was found.
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

// work reads what the kernel shows of the JVMs. It reads two small files for each JVM, and a third
// if the JVM's VM thread waits uninterruptibly.
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

// stat returns the state and the number of major page faults of the thread or the whole process whose
// directory is dir: see proc_pid_stat(5). The name, which is in parentheses, may have any characters.
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
