package pause

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// Handlers are the functions that a [Joiner] calls. Each receives a record that is valid,
// including its slices, only until the function returns. A nil function is not called.
type Handlers struct {
	Run        func(*Run)        // before the first record of a run, with the properties seen so far; again if the run turns out to be Mixed
	Pause      func(*GCPause)    // at the line of the pause; its Times follow
	Timed      func(*GCPause)    // the Times of the previous pause are known
	Wait       func(*Wait)       // a thread waited for memory, or for an object to be moved
	Stop       func(*Stop)       // the application was stopped
	Collection func(*Collection) // a collection has ended
	Unread     func()            // a pause of JDK 8 has begun, but its end is lost or has an unknown form; no other function receives it

	// Clock receives the time that the current line shows, and may correct it.
	Clock func(*Clock)
}

// Bounds of a Joiner.
const (
	maxOpen     = 16  // collections
	maxPauses   = 16  // of one collection
	maxWaiting  = 8   // pauses whose safepoint is not known yet
	maxInterned = 512 // names
	maxSettings = 48
)

// Joiner joins the events of one stream by the number of the collection and the order of the
// lines. It must receive the lines in order. It uses at most about 200 KiB of memory. It is not
// safe for concurrent use. The zero value is not usable; use [NewJoiner].
type Joiner struct {
	handlers Handlers
	names    map[string]*name
	lines    uint64
	parser   ul.Parser
	event    Event

	run       Run
	announced bool
	runs      runs
	newest    int64  // highest number of a collection in this run
	clock     moment // of the current event

	open    []*collecting
	free    []*collecting
	waiting []GCPause // not in a Stop yet, oldest first
	out     handed
	entered *name // operation of JDK 9 to 12
	old     old

	timed    bool  // this run logs CPU times
	unpaired int   // pauses since the last safepoint line, up to maxWaiting
	after    int64 // bytes of the heap in use after the last collection; -1: not known
}

// handed holds the values that are passed to the handlers. Each is valid until the next value.
type handed struct {
	pause   GCPause
	stop    Stop
	stopped []GCPause // the pauses of a stop without a safepoint
}

// NewJoiner returns a Joiner that is ready for any line of a stream, the first or a later one.
func NewJoiner(h Handlers) *Joiner {
	return &Joiner{handlers: h, names: map[string]*name{}, run: Run{Number: 1}, runs: runs{passed: -1}, newest: -1, after: -1, old: newOld()}
}

// Line takes the next line, without its newline, and returns its event, as [Parse] does. The
// event is valid until the next call. class is the line's class, or zero if it is not known; it
// only saves time. Line calls the handlers for everything that the line completes.
//
// A line at level trace has no event: HotSpot logs events at debug and above. With
// all=trace, most lines have that level.
func (j *Joiner) Line(line []byte, class ul.Class) (e *Event, ok bool) {
	j.lines++
	e = &j.event
	if e.Kind != 0 {
		*e = Event{}
	}
	if class.Level == ul.Trace {
		return e, false
	}
	if j.old.scan.claims(line) {
		if found, ok := j.old.line(j, line); ok {
			return e, found
		}
	}
	r, ok := e.parse(line, int(class.Message), &j.parser)
	if !ok {
		return e, false
	}
	j.old.scan.active = false
	if e.Kind == Phase {
		return e, true // the line of its pause follows
	}
	j.clock.read(r, j.handlers.Clock)
	j.begin(e)
	j.take(e)
	return e, true
}

// Flush reports everything that is incomplete, at the end of a stream.
func (j *Joiner) Flush() {
	j.old.abandon(j)
	j.Settle()
	for len(j.open) > 0 {
		c := j.open[0]
		if !c.ended {
			c.Marks |= Cut
		}
		j.emit(c)
	}
}

// Settle reports the stops and ended collections that are held back only because further lines
// may belong to them. Call it when a stream has had no line for a while.
func (j *Joiner) Settle() {
	for len(j.waiting) > 0 {
		j.emitPause()
	}
	for i := 0; i < len(j.open); {
		if c := j.open[i]; c.ended {
			j.emit(c)
			continue
		}
		i++
	}
}

// Run returns the current run. It is valid until the next call.
func (j *Joiner) Run() *Run { return &j.run }

// take handles one event.
func (j *Joiner) take(e *Event) {
	if e.Kind == Init {
		j.takeInit(e)
		return
	}
	if !j.announced {
		j.announced = true
		if j.run.First = j.clock.Clock; j.handlers.Run != nil {
			j.handlers.Run(&j.run)
		}
	}
	switch e.Kind {
	case Safepoint:
		j.emitEnded(-1)
		j.takeSafepoint(e)
	case Enter:
		j.entered = j.name(e.Name)
	case Stall:
		if j.handlers.Wait != nil {
			j.handlers.Wait(&Wait{Run: j.run.Number, Thread: j.name(e.Name).text, End: j.clock.Clock, Duration: e.Duration, Relocation: e.Relocation, Line: j.lines})
		}
	default:
		if e.GC < 0 {
			j.takeGivenUp(e)
			return
		}
		j.emitEnded(e.GC)
		j.takeGC(e)
	}
}

// takeSafepoint makes one Stop of a safepoint and the pauses in it. It assumes that these are the
// latest pauses, as many as fit into the safepoint's time.
func (j *Joiner) takeSafepoint(e *Event) {
	s, name := &j.out.stop, j.name(e.Name)
	shared := len(e.Name) == 0 // JDK 9 to 12 run all waiting operations in the safepoint of the first one
	if shared && j.entered != nil {
		name = j.entered
	}
	j.entered = nil
	*s = Stop{Run: j.run.Number, Operation: name.operation, Name: name.text, End: j.clock.Clock, Duration: e.Duration, Safepoint: true,
		Reaching: e.Reaching, Cleanup: e.Cleanup, At: e.At, Leaving: e.Leaving, Lines: [2]uint64{j.lines, j.lines}}
	fit := len(j.waiting)
	if shared || s.Operation == None || s.Operation == Other || isCollection(s.Operation) || collects(s.Operation) {
		left := e.At + e.Cleanup + time.Microsecond
		for fit > 0 && j.waiting[fit-1].Duration <= left {
			fit--
			outer := &j.waiting[fit]
			left -= outer.Duration
			for fit > 0 && j.waiting[fit-1].inside(outer) { // only the length of the outer pause is used
				fit--
			}
		}
	}
	if fit > 0 {
		whole := *s
		for range fit {
			j.emitPause()
		}
		*s = whole
	}
	j.unpaired = 0
	if s.Pauses = j.waiting; len(s.Pauses) > 0 {
		s.Lines[0] = s.Pauses[0].Line
	}
	if j.handlers.Stop != nil {
		j.handlers.Stop(s)
	}
	j.waiting = j.waiting[:0]
}

// inside reports whether p is the pause of a collection within the outer pause: Serial up
// to JDK 12 makes a full collection inside a young collection.
func (p *GCPause) inside(outer *GCPause) bool {
	return p.GC > outer.GC && p.Duration <= outer.Duration
}

// emitPause reports the oldest waiting pause as a Stop of its own.
func (j *Joiner) emitPause() {
	j.out.stopped = append(j.out.stopped[:0], j.waiting[0])
	j.waiting = append(j.waiting[:0], j.waiting[1:]...)
	p := &j.out.stopped[0]
	if j.handlers.Stop != nil {
		j.out.stop = Stop{Run: j.run.Number, Operation: None, End: p.End, Duration: p.Duration, Pauses: j.out.stopped, Lines: [2]uint64{p.Line, p.Line}}
		j.handlers.Stop(&j.out.stop)
	}
}

// moment has the time of a record, and the texts of its date and its uptime.
type moment struct {
	Clock
	date, uptime []byte
}

// read reads the time of a record. correct, if not nil, may change that time. The date and the uptime are
// parsed only if they differ from the previous record's.
func (m *moment) read(r *ul.Record, correct func(*Clock)) {
	if r.Present&ul.Time == 0 || !bytes.Equal(r.Time, m.date) {
		m.Wall, _ = r.When()
		m.date = append(m.date[:0], r.Time...)
	}
	if r.Present&(ul.Uptime|ul.UptimeNanos) != ul.Uptime {
		m.Uptime, m.HasUptime = r.Since()
		m.uptime = m.uptime[:0]
	} else if !bytes.Equal(r.Uptime, m.uptime) {
		m.Uptime, m.HasUptime = r.Since()
		m.uptime = append(m.uptime[:0], r.Uptime...)
	}
	m.Estimated = false
	if correct == nil {
		return
	}
	wall, uptime := m.Wall, m.Uptime
	if correct(&m.Clock); !m.Wall.Equal(wall) || m.Uptime != uptime {
		m.date, m.uptime = m.date[:0], m.uptime[:0]
	}
}
