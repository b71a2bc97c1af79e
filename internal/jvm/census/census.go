package census

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/line/mark"
)

const (
	// lookInterval is how often a [Census] checks which JVMs have ended and whether there may be
	// new ones.
	lookInterval = 5 * time.Second

	// maxAsked is how many times a Census asks a JVM that does not answer.
	maxAsked = 5

	// catchUpTime bounds how long the mark of an end waits for the last lines of the JVM. The
	// reader needs milliseconds, unless its queue is full because the destination stalls.
	catchUpTime = 2 * time.Second

	// lastCatchUp is the same bound once the Census is to end. The sidecar waits 100 ms for the
	// last marks.
	lastCatchUp = 50 * time.Millisecond

	maxElsewhere = 20  // files elsewhere that are listed
	maxNamed     = 200 // bytes of the name of such a file
	maxCrashes   = 32  // crash reports that are remembered
)

// Census tracks the JVMs that write to the source. It marks their starts and ends, and finds
// log files that they write outside the source: a JVM waits for the disks of such files, and
// the sidecar cannot prevent that. Census asks each JVM once for its outputs and its name, and
// changes nothing. It asks only JVMs that already listen on a socket, because other JVMs would
// have to be sent a signal first.
type Census struct {
	talk    outputs.Talk
	source  string
	log     *slog.Logger
	gauge   prometheus.Gauge
	endings *prometheus.CounterVec
	Outlets
	began   time.Time
	lists   bool               // the Census looks for log files elsewhere
	members map[string]*member // by JVM ID
	search  attach.Search

	tmpfs [2]int64 // bytes in use on the source's tmpfs at the last two looks

	mu      sync.Mutex
	end     *admin.JVMEnd // the last end that was not orderly
	again   bool          // JVMs that wrote nothing to the source are to be asked again
	files   []string
	crashes []crash
}

// Outlets are the functions that a Census calls to pass on marks and to learn about heaps. Mark and
// Heap must not block.
type Outlets struct {
	Mark func(mark.Mark)                                 // nil: starts and ends are not marked
	Heap func(stream string, ran time.Time) insight.Heap // see [insight.Insight.Heap]; nil: the heap is not known

	// CatchUp returns once the lines that are in the source now have been read, or when ctx ends.
	// Nil: the marks of ends do not wait for them.
	CatchUp func(ctx context.Context)
}

// member is what is known about one JVM.
type member struct {
	jvm     attach.JVM
	witness *attach.Witness // detects its end; nil: the JVM is not ours
	memory  counters
	flags   string // the options of the JVM, as in its mark
	asked   int
	known   bool      // the JVM has answered
	ours    bool      // some of its outputs are shipped
	since   time.Time // when the JVM became known
	ended   bool
	streams string
	files   []string // "pid 1: /data/gc.log"
}

// crash records that a JVM left a crash report.
type crash struct {
	pid string
	at  time.Time // when the report was read
}

// New returns a Census for a valid cfg. If --attach is off, the Census does nothing.
func New(cfg outputs.Config, to Outlets, reg prometheus.Registerer, log *slog.Logger) *Census {
	r := &Census{log: log, source: cfg.Source, Outlets: to, endings: newEndings(reg), began: time.Now(), members: map[string]*member{}, search: attach.Search{Looks: maxAsked}, gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ullage_jvm_disk_outputs", Help: "Log files of JVMs outside the source, as VM.log lists them: a JVM waits for their disks. JVMs that do not listen for attach are not asked."})}
	switch r.lists = cfg.Attach.Mode == attach.SharedTmp; {
	case cfg.Attach.Mode == attach.Off:
		r.Mark = nil
	case !r.lists:
		cfg.Attach.Mode = attach.ProcessNamespace // the sockets in the directory may belong to unrelated JVMs
	}
	cfg.Attach.Passive = true
	r.talk = outputs.New(cfg)
	reg.MustRegister(r.gauge)
	return r
}

// Run looks for JVMs until ctx ends. Then it checks once more which JVMs have ended, because a
// pod's sidecar is stopped right after its JVM.
func (r *Census) Run(ctx context.Context) {
	if !r.lists && r.Mark == nil {
		return
	}
	tick := kernel.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		if ended, again := r.watchAll(ctx), r.askAgain(); r.search.Due(r.talk.JVMs.Surroundings(), ended || again, time.Now()) {
			r.look(ctx)
		}
		select {
		case <-ctx.Done():
			r.watchAll(ctx)
			r.close()
			return
		case <-tick.C:
		}
	}
}

// Files lists the log files outside the source, in the form "pid 1: /data/gc.log". It is safe for
// concurrent use.
func (r *Census) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files
}

// Crashed records that a crash report was read. stream is the name of the report's stream. It is
// safe for concurrent use.
func (r *Census) Crashed(stream string) {
	rest, ok := strings.CutPrefix(stream, crashPrefix)
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if !ok || digits == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crashes = append(r.crashes[max(0, len(r.crashes)+1-maxCrashes):], crash{rest[:digits], time.Now()})
}

// Adopted records that a JVM that wrote nothing to the source now writes there. It is safe for
// concurrent use.
func (r *Census) Adopted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = true
}

// askAgain reports whether [Census.Adopted] has been called since the last askAgain. If so, the
// next look again asks all JVMs that are not known to write to the source.
func (r *Census) askAgain() (again bool) {
	r.mu.Lock()
	again, r.again = r.again, false
	r.mu.Unlock()
	for id, m := range r.members {
		if again && !m.ours {
			delete(r.members, id)
		}
	}
	return again
}

// crashPrefix is the beginning of the name of a crash report; the process ID follows.
const crashPrefix = "hs_err_pid"

// look checks which JVMs have ended, asks JVMs that have not answered yet, and forgets JVMs
// that are gone.
func (r *Census) look(ctx context.Context) {
	r.watchAll(ctx)
	var known []string
	for id, m := range r.members {
		if m.ours && !m.ended {
			known = append(known, id)
		}
	}
	jvms, _ := r.talk.JVMs.Find(ctx, known...)
	found := map[string]bool{}
	for _, j := range jvms {
		found[j.ID] = true
		m := r.members[j.ID]
		if m == nil {
			m = &member{jvm: j}
			r.members[j.ID] = m
		}
		if !m.known && m.asked < maxAsked && ctx.Err() == nil {
			m.asked++
			if err := r.inspect(ctx, m); err == nil && m.ours {
				r.meet(ctx, m)
			}
		}
	}
	var files []string
	for id, m := range r.members {
		switch {
		case !found[id] && (m.ended || !m.ours):
			delete(r.members, id)
		case !m.ended:
			files = append(files, m.files...)
		}
	}
	slices.Sort(files)
	r.gauge.Set(float64(len(files)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = files[:min(len(files), maxElsewhere)]
}

// inspect lists the outputs of a JVM. A JVM is ignored if none of its outputs is shipped.
func (r *Census) inspect(ctx context.Context, m *member) (err error) {
	defer outputs.Recover(&err)
	listed, err := r.talk.List(ctx, m.jvm)
	if err != nil {
		return err
	}
	var streams, files []string
	for _, o := range listed {
		switch file := o.File(); {
		case r.talk.Ships(m.jvm, o):
			streams = append(streams, outputs.Stream(m.jvm, o))
		case r.lists && file != "" && !attach.OnNoDisk(file) && !r.talk.JVMs.Ships(m.jvm, o):
			files = append(files, fmt.Sprintf("pid %d: %s", m.jvm.PID, printable.Escaped(file, maxNamed)))
		}
	}
	m.known, m.since = true, time.Now()
	if m.ours = len(streams) > 0; m.ours {
		m.files, m.streams = files, strings.Join(streams, ",")
		m.witness, m.memory = r.talk.JVMs.Witness(m.jvm), watchGroup(m.jvm.Process())
	}
	return nil
}

// meet reports a JVM that has just become known.
func (r *Census) meet(ctx context.Context, m *member) {
	for _, file := range m.files {
		// messages.md#the-jvms: The JVM has a second file output and waits for that disk, which the
		// sidecar cannot prevent. Write that log into the source. Logged once for each JVM, where
		// `--attach` is `shared-tmp`; `ullage status` and `ullage_jvm_disk_outputs` show it while the
		// JVM runs.
		r.log.Warn("a JVM logs outside the source", "file", file, "hint", "the JVM waits for that disk; write the log into the source, which is shipped")
	}
	if r.Mark != nil {
		r.markStart(ctx, m)
	}
}

// markStart marks the start of a JVM. If the JVM is older than this process, an earlier sidecar may
// already have marked its start. If the JVM does not describe itself, its name is unknown here.
func (r *Census) markStart(ctx context.Context, m *member) {
	d := r.talk.Describe(ctx, m.jvm)
	m.flags = d.Flags
	kind, uptime := mark.JVMSeen, ""
	if d.Uptime > 0 {
		uptime = d.Uptime.String()
		if time.Now().Add(-d.Uptime).After(r.began) {
			kind = mark.JVMStarted
		}
	}
	r.Mark(mark.New(kind, "stream", m.streams, "pid", strconv.Itoa(m.jvm.PID), "uptime", uptime,
		"version", d.Version, "collector", d.Collector, "main", d.Main, "flags", d.Flags))
}

// watchAll checks which of the known JVMs have ended and reports whether any has. It marks their
// ends. What the kernel knows about an end is read at once, before it changes. The heap and the
// crash report of the JVM may be in lines that are still unread, so the marks wait for the reader.
func (r *Census) watchAll(ctx context.Context) (ended bool) {
	r.tmpfs = [2]int64{r.tmpfs[1], kernel.TmpfsUsed(r.source)}
	ends := map[*member]evidence{}
	for _, m := range r.members {
		if m.ours && !m.ended {
			if e, gone := r.watch(m); gone {
				ends[m] = e
			}
		}
	}
	if len(ends) == 0 || r.Mark == nil {
		return len(ends) > 0
	}
	r.catchUp(ctx)
	for m, e := range ends {
		r.markEnd(m, e)
	}
	return true
}

// catchUp waits until the lines that are in the source now have been read, up to catchUpTime, or
// up to lastCatchUp after the end of ctx.
func (r *Census) catchUp(ctx context.Context) {
	if r.CatchUp == nil {
		return
	}
	until, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUpTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastCatchUp, cancel) })()
	r.CatchUp(until)
}

// close ends the watch.
func (r *Census) close() {
	for _, m := range r.members {
		if m.witness != nil {
			m.witness.Close()
		}
		m.memory.close()
	}
}

// watch checks a JVM that was last known to run. If the JVM has ended, watch returns what the kernel
// shows about the end.
func (r *Census) watch(m *member) (e evidence, gone bool) {
	e.how, gone = m.witness.Gone()
	if m.ended = gone; !gone {
		m.memory.note(time.Now())
		return e, false
	}
	e.status, e.told = m.witness.Status()
	m.witness.Close()
	e.flags, e.tmpfs = m.flags, max(r.tmpfs[0], r.tmpfs[1]) // the log of a JVM that has ended is soon removed from the tmpfs
	e.memory, e.group = m.memory.end()
	return e, true
}

// crashed reports whether a JVM that has ended left a crash report: either a report was read after
// the JVM became known, or one is still in the source.
func (r *Census) crashed(m *member) bool {
	pid := strconv.Itoa(m.jvm.PID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.crashes, func(c crash) bool { return c.pid == pid && c.at.After(m.since) }) {
		return true
	}
	info, err := os.Lstat(filepath.Join(r.source, crashPrefix+pid+".log"))
	return err == nil && info.Mode().IsRegular() && info.ModTime().After(m.since)
}
