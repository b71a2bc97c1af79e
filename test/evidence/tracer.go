package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A tracer times each write of a JVM to its log and samples where in the kernel its threads wait. All methods of a
// nil tracer do nothing.
type tracer struct {
	prefix  string // of the names of strace's files, one for each thread
	writes  []tracedWrite
	pauses  []pause
	samples []sample
	hidden  error // why the kernel does not show where threads wait
}

// A tracedWrite is one write(2) to the log.
type tracedWrite struct {
	thread int
	began  time.Time
	took   time.Duration
	text   string // the first bytes of the write, quoted
}

func (w tracedWrite) ended() time.Time { return w.began.Add(w.took) }

// A pause is a line of the log about a time during which the application was stopped. The pause ended at the time
// of the line.
type pause struct {
	ended time.Time
	took  time.Duration
	text  string
}

// A sample is the kernel's stack of a waiting thread, innermost function first.
type sample struct {
	at     time.Time
	thread int
	stack  []string
}

// around returns a command that runs the given command under strace. The started process is the traced command
// itself, since strace runs as its grandchild.
func (t *tracer) around(command []string, log string) []string {
	if t == nil {
		return command
	}
	return append([]string{"strace", "-D", "-f", "-ff", "--seccomp-bpf", "-ttt", "-T", "-y", "-s", "160",
		"-e", "trace=write,writev,pwrite64", "-e", "signal=none", "-P", log, "-o", t.prefix}, command...)
}

// sample inspects the threads of a process a hundred times a second until end is called.
func (t *tracer) sample(pid int) (end func()) {
	if t == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				t.look(pid)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// look records the stacks of threads that wait uninterruptibly in a write.
func (t *tracer) look(pid int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is well-formed
	for _, task := range tasks {
		stat, err := os.ReadFile(filepath.Join(task, "stat"))
		if _, state, _ := cutLast(string(stat), ") "); err != nil || !strings.HasPrefix(state, "D") {
			continue
		}
		at := time.Now()
		text, err := os.ReadFile(filepath.Join(task, "stack"))
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) { // the thread still exists
				t.hidden = err
			}
			continue
		}
		thread, _ := strconv.Atoi(filepath.Base(task)) // the name of a thread's directory is a number
		if stack := parseStack(string(text)); slices.ContainsFunc(stack, func(f string) bool { return strings.Contains(f, "write") }) {
			t.samples = append(t.samples, sample{at, thread, stack})
		}
	}
}

// parseStack returns the functions in a /proc/PID/stack, whose lines have the form "[<0>]
// name+0x1/0x2".
func parseStack(text string) (functions []string) {
	for line := range strings.Lines(text) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "] ")
		if name, _, _ = strings.Cut(name, "+"); ok && name != "" {
			functions = append(functions, name)
		}
	}
	return functions
}

// waits lists the kernel functions that reveal the reason for a wait.
var waits = []struct{ function, on string }{
	{"balance_dirty_pages", onPages}, {"wait_on_page_writeback", onPages}, {"folio_wait_writeback", onPages}, {"folio_wait_stable", onPages}, {"wait_for_stable_page", onPages},
	{"jbd2_log_wait_commit", onJournal}, {"jbd2_log_wait_for_space", onJournal}, {"do_get_write_access", onJournal}, {"wait_transaction_locked", onJournal},
	{"add_transaction_credits", onJournal}, {"start_this_handle", onJournal},
}

// What a write waits for.
const (
	onPages   = "pages"
	onJournal = "journal"
	onOther   = "other"
)

// reason returns the function in which a thread waits, and the kind of the wait.
func (s sample) reason() (function, on string) {
	for _, f := range s.stack {
		for _, w := range waits {
			if strings.Contains(f, w.function) {
				return f, w.on
			}
		}
	}
	return s.stack[0], onOther
}

var pauseLine = regexp.MustCompile(`^\[([^\]]+)\].*?(Safepoint "\w+").* Total: (\d+) ns|^\[([^\]]+)\].*?(GC\(\d+\) Pause .*) ([\d.]+)ms$`)

// parsePauses parses the lines about safepoints and pauses of collections in a log whose first
// decorator is the time.
func parsePauses(text string) (all []pause) {
	for line := range strings.Lines(text) {
		m := pauseLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		at, what, number, unit := m[1], m[2], m[3], time.Nanosecond
		if at == "" {
			at, what, number, unit = m[4], m[5], m[6], time.Millisecond
		}
		ended, err := time.Parse("2006-01-02T15:04:05.000-0700", at)
		n, failed := strconv.ParseFloat(number, 64)
		if err == nil && failed == nil {
			all = append(all, pause{ended, time.Duration(n * float64(unit)), what})
		}
	}
	return all
}

// readWrites reads the writes from strace's files.
func (t *tracer) readWrites() error {
	files, err := filepath.Glob(t.prefix + ".*")
	if err != nil {
		return fmt.Errorf("find the traces: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a trace: %w", err)
		}
		thread, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(file), "."))
		for line := range strings.Lines(string(text)) {
			if w, ok := parseWrite(line); ok {
				w.thread = thread
				t.writes = append(t.writes, w)
			}
		}
	}
	slices.SortFunc(t.writes, func(a, b tracedWrite) int { return a.began.Compare(b.began) })
	return nil
}

var writeLine = regexp.MustCompile(`^(\d+\.\d+) (?:write|writev|pwrite64)\(.*?"(.*)".* = \d+ <(\d+\.\d+)>$`)

// parseWrite parses a line of `strace -ttt -T` about a successful write.
func parseWrite(line string) (w tracedWrite, ok bool) {
	m := writeLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return w, false
	}
	began, err := strconv.ParseFloat(m[1], 64)
	took, failed := strconv.ParseFloat(m[3], 64)
	if err != nil || failed != nil {
		return w, false
	}
	return tracedWrite{began: time.UnixMicro(int64(math.Round(began * 1e6))), took: time.Duration(took * 1e9), text: m[2]}, true
}

// A stall is a write that waited, with the pause and the samples of that time.
type stall struct {
	tracedWrite
	pause     pause // the longest pause that contains it; the zero value: none
	functions map[string]int
	on        map[string]int // the number of samples for each kind of wait
}

const (
	longWait  = 100 * time.Millisecond
	precision = 5 * time.Millisecond // of the times in the log, and between the two clocks
)

// stalls returns the writes that took at least longWait, from the longest to the shortest.
func (t *tracer) stalls() (all []stall) {
	for _, w := range t.writes {
		if w.took < longWait {
			continue
		}
		s := stall{tracedWrite: w, functions: map[string]int{}, on: map[string]int{}}
		for _, p := range t.pauses {
			if began := p.ended.Add(-p.took); p.took > s.pause.took && !began.After(w.began.Add(precision)) && !p.ended.Before(w.ended().Add(-precision)) {
				s.pause = p
			}
		}
		for _, at := range t.samples {
			if at.thread == w.thread && !at.at.Before(w.began) && !at.at.After(w.ended()) {
				function, on := at.reason()
				s.functions[function]++
				s.on[on]++
			}
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b stall) int { return cmp.Compare(b.took, a.took) })
	return all
}

// figures summarizes the writes.
func (t *tracer) figures() figures {
	f := figures{"writes": float64(len(t.writes))}
	for _, w := range t.writes {
		f["longest"] = max(f["longest"], w.took.Seconds()*1000)
	}
	on := map[string]int{}
	samples := 0
	for _, s := range t.stalls() {
		f["stalls"]++
		if s.pause.took > 0 {
			f["proven"]++
		}
		for reason, n := range s.on {
			on[reason] += n
			samples += n
		}
	}
	for _, reason := range []string{onPages, onJournal, onOther} {
		if samples > 0 {
			f[reason] = 100 * float64(on[reason]) / float64(samples)
		}
	}
	f["stalls"] += 0 // adds the key, so that zero is reported too
	f["proven"] += 0
	return f
}

// String describes the write, the pause and the kernel functions.
func (s stall) String() string {
	beside := "no pause"
	if s.pause.took > 0 {
		beside = fmt.Sprintf("%s, %.1f ms", s.pause.text, s.pause.took.Seconds()*1000)
	}
	var in []string
	for _, function := range slices.Sorted(func(yield func(string) bool) {
		for f := range s.functions {
			if !yield(f) {
				return
			}
		}
	}) {
		in = append(in, fmt.Sprintf("%s (%d)", function, s.functions[function]))
	}
	return fmt.Sprintf("%s write waits %.1f ms in %s; %s\n    %s", s.began.UTC().Format("15:04:05.000"), s.took.Seconds()*1000, cmp.Or(strings.Join(in, ", "), "an unknown function"), beside, s.text)
}
