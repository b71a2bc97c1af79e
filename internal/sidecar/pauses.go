package sidecar

import (
	"bytes"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/internal/ul"
)

// shownSafepoint is the shortest safepoint without a collection that is shown: a JVM
// has many short ones, which would take the place of its pauses.
const shownSafepoint = time.Millisecond

// pauses notes the pauses in the lines that it is shown. It is for one goroutine.
type pauses struct {
	to *recent
	gc int64 // the number of the last collection
}

// line looks at the next line, without its newline.
func (p *pauses) line(line []byte, c ul.Class) {
	if c.Kind == ul.Continuation {
		return
	}
	e, ok := pause.Parse(line)
	switch {
	case !ok:
	case e.Kind == pause.Pause:
		p.gc = e.GC
		p.to.pause(admin.Pause{At: time.Now(), Name: string(e.Name), Seconds: e.Duration.Seconds()})
	case e.Kind == pause.CPU && e.GC == p.gc && e.Stalled():
		p.to.stalled(e)
	case e.Kind == pause.Safepoint && e.Duration >= shownSafepoint && !collects(e.Name):
		p.to.pause(admin.Pause{At: time.Now(), Name: safepoint + string(e.Name), Seconds: e.Duration.Seconds(), ReachSeconds: e.Reaching.Seconds()})
	}
}

// safepoint begins the name of a pause that is not a collector's.
const safepoint = "Safepoint "

// collections begin the names of the operations in which a collector pauses: those pauses
// have lines of their own.
var collections = []string{"G1", "Gen", "Parallel", "PS", "Shenandoah", "Z", "X", "CMS", "CollectFor", "SerialCollect"}

// collects reports whether a collector may pause in an operation. JDK 9 to 12 do not name it.
func collects(operation []byte) bool {
	for _, name := range collections {
		if bytes.HasPrefix(operation, []byte(name)) {
			return true
		}
	}
	return len(operation) == 0
}

// pause notes a pause.
func (r *recent) pause(one admin.Pause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pauses = push(r.pauses, one, admin.MaxPauses)
}

// stalled notes that the last pause seems to have waited for something other than a CPU.
func (r *recent) stalled(e pause.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.pauses); n > 0 && !strings.HasPrefix(r.pauses[n-1].Name, safepoint) {
		r.pauses[n-1].Verdict = "stall, " + (e.User + e.Sys).Round(time.Millisecond).String() + " of CPU time"
	}
}
