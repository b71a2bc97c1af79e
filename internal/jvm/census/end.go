package census

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
)

// sampleTime is how often the counters of a JVM's cgroup are read. The end of a JVM is judged by
// how much they have grown since the reading before the last one. The last reading may date from
// the time when the JVM was being killed, which takes seconds; an older reading would include
// kills of other processes.
const sampleTime = 30 * time.Second

// counters are the memory counters of a JVM's cgroup, read while the JVM runs.
type counters struct {
	group        *kernel.Group // nil: the cgroup cannot be seen
	before, last kernel.Memory
	at           time.Time // when last was read
}

// watchGroup begins to read the counters of a process's cgroup. If process is 0, the process is not
// visible.
func watchGroup(process int) counters {
	if process == 0 {
		return counters{}
	}
	c := counters{group: kernel.GroupOf(process), at: time.Now()}
	if c.group != nil {
		c.last, _ = c.group.Memory()
		c.before = c.last
	}
	return c
}

// note reads the counters if that is due.
func (c *counters) note(now time.Time) {
	if c.group == nil || now.Sub(c.at) < sampleTime {
		return
	}
	if m, ok := c.group.Memory(); ok {
		c.before, c.last, c.at = c.last, m, now
	}
}

// end returns how much the counters have grown at the end of the JVM. It closes the group.
func (c *counters) end() (grown kernel.Memory, seen sight) {
	if c.group == nil {
		return kernel.Memory{}, hidden
	}
	defer c.close()
	m, ok := c.group.Memory()
	if !ok || m.Kills < c.before.Kills || m.Hits < c.before.Hits {
		return kernel.Memory{}, gone
	}
	m.Kills, m.Hits = m.Kills-c.before.Kills, m.Hits-c.before.Hits
	return m, visible
}

func (c *counters) close() {
	if c.group != nil {
		c.group.Close()
		c.group = nil
	}
}

// sight says whether the cgroup of a JVM can be seen.
type sight int

const (
	hidden sight = iota // the JVM has a container of its own, and its process is not visible
	gone                // the cgroup ended with the JVM, before the counters were read
	visible
)

// evidence is what is known about the end of a JVM.
type evidence struct {
	how    string // how the JVM ended, judging by its socket and its crash report, as in the mark
	status unix.WaitStatus
	told   bool          // the kernel has reported the status
	flags  string        // the options of the JVM
	heap   insight.Heap  // according to its log
	memory kernel.Memory // of its cgroup; Kills and Hits are how much the counters have grown
	group  sight
	tmpfs  int64 // bytes in use on the source's tmpfs; 0: the source is not on a tmpfs
}

// judge returns the known cause of the JVM's end, and a sentence with the numbers. The cause is
// empty if it is not known. Both are empty if there is nothing to explain.
func (e evidence) judge() (cause, why string) {
	if e.heap.Max == 0 {
		e.heap.Max = maxHeap(e.flags)
	}
	full := e.heap.Whole && e.heap.Max > 0 && e.heap.Used >= e.heap.Max/10*9
	option, quit := e.quits()
	ended := e.how == attach.Exited || e.how == mark.Crashed
	switch m := e.memory; {
	case !ended && m.Kills > 0 && m.Hits > 0:
		return mark.MemoryLimit, fmt.Sprintf("the kernel killed it at the memory limit of its own cgroup, %s (%s); %s", sizeOr(m.Limit, "of unknown size"), kills(m.Kills), e.shares())
	case !ended && m.Kills > 0:
		return mark.MemoryAbove, fmt.Sprintf("the kernel killed it: the node or a parent cgroup was out of memory, but its own cgroup was not at its limit (%s); %s", kills(m.Kills), e.shares())
	case full && quit:
		return mark.HeapFull, option + " is set, and the heap was full: " + e.heapText()
	case e.how == attach.Killed:
		return "", fmt.Sprintf("%s; %s; %s", cmp.Or(e.signal(), "SIGKILL, or it exited at once by itself"), e.groupText(), e.shares())
	case full:
		return "", "the heap was full: " + e.heapText()
	}
	return "", ""
}

// exit returns the exit code, or "" if it is not known.
func (e evidence) exit() string {
	if !e.told || !e.status.Exited() {
		return ""
	}
	return strconv.Itoa(e.status.ExitStatus())
}

// signal returns the name of the signal that ended the JVM, or "" if it is not known.
func (e evidence) signal() string {
	if !e.told || !e.status.Signaled() {
		return ""
	}
	return cmp.Or(unix.SignalName(e.status.Signal()), strconv.Itoa(int(e.status.Signal())))
}

// quits returns the option with which the JVM ends itself when its heap is full, and whether the
// end of the JVM matches that option. If both options are set, the one for a crash takes effect. A
// JVM that aborts, or that exits because of the option on JDK 25, leaves its socket behind, as a
// killed JVM does. Then only its cgroup shows that the kernel did not kill it.
func (e evidence) quits() (option string, quit bool) {
	for _, o := range []struct{ option, how string }{
		{"-XX:+CrashOnOutOfMemoryError", mark.Crashed},
		{"-XX:+ExitOnOutOfMemoryError", attach.Exited},
	} {
		if strings.Contains(e.flags, o.option) {
			return o.option, e.how == o.how || e.how == attach.Killed && e.group == visible
		}
	}
	return "", false
}

// maxHeap returns the maximum heap that the options of a JVM set, or 0.
func maxHeap(flags string) (size int64) {
	for flag := range strings.FieldsSeq(flags) {
		if text, ok := strings.CutPrefix(flag, "-Xmx"); ok {
			size = pause.Size(text)
		}
	}
	return size
}

func kills(n uint64) string {
	if n == 1 {
		return "1 kill in the last minute"
	}
	return fmt.Sprintf("%d kills in the last minute", n)
}

func sizeOr(n int64, unknown string) string {
	if n == 0 {
		return unknown
	}
	return printable.Bytes(n)
}

// groupText says why no kill is known: the cgroup cannot be read, or has counted no kill.
func (e evidence) groupText() string {
	switch {
	case e.group == hidden:
		return "its cgroup cannot be seen here"
	case e.group == gone:
		return "its cgroup ended with it"
	case e.memory.Limit == 0:
		return "its cgroup has recorded no OOM kill and has no limit"
	}
	return fmt.Sprintf("its cgroup has recorded no OOM kill: peak %s, limit %s", sizeOr(e.memory.Peak, "unknown"), printable.Bytes(e.memory.Limit))
}

// heapText says how full the heap was.
func (e evidence) heapText() string {
	if e.heap.Max == 0 {
		return printable.Bytes(e.heap.Used) + " in use after a collection"
	}
	return fmt.Sprintf("%s of %s in use after a collection", printable.Bytes(e.heap.Used), printable.Bytes(e.heap.Max))
}

// shares says what used the memory: the heap, measured by its size in the JVM, the tmpfs of the
// log, and the rest of the cgroup's peak.
func (e evidence) shares() string {
	text := "heap unknown"
	if e.heap.Used > 0 || e.heap.Capacity > 0 {
		text = "heap " + sizeOr(e.heap.Capacity, "of unknown size") + " (" + e.heapText() + ")"
	}
	if e.tmpfs > 0 {
		text += ", " + printable.Bytes(e.tmpfs) + " on the log's tmpfs"
	}
	if rest := e.memory.Peak - e.heap.Capacity - e.tmpfs; e.memory.Kills > 0 && e.heap.Capacity > 0 && rest > 0 {
		text += ", about " + printable.Bytes(rest) + " besides"
	}
	return text
}

// newEndings returns the counter of ends, which has a series for each cause.
func newEndings(reg prometheus.Registerer) *prometheus.CounterVec {
	ends := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ullage_jvm_ends_total",
		Help: "JVMs that have ended, by the cause, or else the way, that the mark jvm-ended shows."}, []string{"cause"})
	for _, cause := range []string{attach.Exited, attach.Killed, mark.Crashed, unknown, mark.MemoryLimit, mark.MemoryAbove, mark.HeapFull} {
		ends.WithLabelValues(cause)
	}
	reg.MustRegister(ends)
	return ends
}

// unknown is the label of the counter if nothing is known about the end.
const unknown = "unknown"

// markEnd marks the end of a JVM whose last lines have been read, unless they were late. It adds to e
// what those lines show.
func (r *Census) markEnd(m *member, e evidence) {
	if r.crashed(m) {
		e.how = mark.Crashed
	}
	for stream := range strings.SplitSeq(m.streams, ",") {
		if r.Heap != nil && e.heap == (insight.Heap{}) {
			e.heap = r.Heap(stream, m.since)
		}
	}
	if e.told && e.status.Exited() && e.how == attach.Killed {
		e.how = attach.Exited // with the option to exit when the heap is full, JDK 25 leaves its socket behind
	}
	cause, why := e.judge()
	r.endings.WithLabelValues(cmp.Or(cause, e.how, unknown)).Inc()
	r.Mark(mark.New(mark.JVMEnded, "stream", m.streams, "pid", strconv.Itoa(m.jvm.PID), "how", e.how, "exit", e.exit(), "signal", e.signal(), "cause", cause, "why", why))
	if e.how == attach.Exited && cause == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = &admin.JVMEnd{At: time.Now(), PID: m.jvm.PID, Stream: m.streams, How: e.how, Cause: cause, Why: why}
}

// Show adds the last end of a JVM that was not orderly. It is safe for concurrent use.
func (r *Census) Show(st *admin.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st.JVMEnd = r.end
}
