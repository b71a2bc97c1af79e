package pause

import "time"

// Clock says when a line was written. The zero value means that nothing is known.
type Clock struct {
	Wall      time.Time     // zero: unknown
	Uptime    time.Duration // since the JVM started
	HasUptime bool
	Estimated bool // Wall is not a date that the line shows
}

// Known reports whether any time is known.
func (c Clock) Known() bool { return c.HasUptime || !c.Wall.IsZero() }

// Minus returns the clock d earlier, but not before the start of the JVM.
func (c Clock) Minus(d time.Duration) Clock {
	if !c.Wall.IsZero() {
		c.Wall = c.Wall.Add(-d)
	}
	if c.HasUptime {
		c.Uptime = max(0, c.Uptime-d)
	}
	return c
}

// Times are the CPU times of all threads of the process and the real time during which they
// were used. The JVM measures both in hundredths of a second.
type Times struct {
	User, Sys, Real time.Duration
	Known           bool // the log has them
}

// GCPause is one pause of a collector, described by its line, the line with its CPU times
// and the lines of its collection.
type GCPause struct {
	GC        int64 // number of the collection
	Collector Collector
	Name      string // as in [Event.Name]: untrusted
	Action    string // as in [Event.Action]
	Cause     string // as in [Event.Cause]; or the collection's, if the line has none
	End       Clock
	Duration  time.Duration
	Heap      Heap
	Times     Times
	Workers   int    // threads that worked in it; 0: unknown
	Line      uint64 // number of its line in the stream, starting at 1
}

// Collection is one collection: a pause, or a concurrent cycle with its pauses. A
// collection that began before the log's first line, or did not end by its last line, is
// marked [Cut].
type Collection struct {
	Run       int // number of the run of a JVM in the stream, starting at 1
	GC        int64
	Collector Collector
	Name      string // of the cycle, or otherwise of the longest pause; untrusted
	Action    string // as [Event.Action], of Name
	Cause     string // as [Event.Cause]

	Start, End Clock

	Pauses     []GCPause     // its first pauses, in order
	Count      int           // how many pauses it had
	Paused     time.Duration // the sum of all pauses
	Concurrent time.Duration // the sum of its concurrent phases, which may overlap

	Heap      Heap // Before is from the first line with sizes, After from the last
	Metaspace Heap
	Old       Heap  // of the old generation; only Serial, Parallel and CMS show its size
	Live      int64 // bytes that ZGC found in use in the whole heap, or in the collected generations; -1: unknown
	Promoted  int64 // bytes by which the old generation grew in a young collection; -1: unknown
	Allocated int64 // bytes allocated since the previous collection; -1: unknown
	Marks     Marks

	Lines [2]uint64 // numbers of its first and its last line
}

// LiveData returns the heap in use after a collection of the whole heap or, for G1, of
// the old regions that were worth collecting.
func (c *Collection) LiveData() (bytes int64, ok bool) {
	switch {
	case c.Marks&Cut != 0:
		return 0, false
	case c.Live >= 0 && (c.Collector == Z || c.Action == "major collection"):
		return c.Live, true
	}
	whole := c.Marks&Full != 0 || c.Action == "mixed" || c.Action == "garbage collection" || c.Action == "major collection"
	return c.Heap.After, whole && c.Heap.Known
}

// Marks are properties of a [Collection].
type Marks uint8

// The marks.
const (
	Cut               Marks = 1 << iota // a part of the collection is missing from the log
	Full                                // a full collection
	Degenerated                         // Shenandoah continued with the world stopped
	EvacuationFailure                   // there was no room to move objects to, or an object was pinned; with CMS, the old generation was full before its collection ended
	Humongous                           // G1 had humongous objects, or made room for one
)

// Stop is one stop of the application: a safepoint, with the collector's pauses in it. A stop
// is reported once, no matter which lines show it. Without a safepoint line, each pause of the
// collector is a stop.
type Stop struct {
	Run       int
	Operation string        // as in [Event.Operation]; "none" if no line has it
	Name      string        // as in [Event.Name], untrusted
	End       Clock         // of its last line
	Duration  time.Duration // of the safepoint, or of the pause if no line shows a safepoint
	Safepoint bool          // a line shows the safepoint, so the parts below are known
	Reaching  time.Duration
	Cleanup   time.Duration
	At        time.Duration
	Leaving   time.Duration
	Pauses    []GCPause // during the stop, in order; at most eight
	Lines     [2]uint64
}

// Start returns when the stop began.
func (s *Stop) Start() Clock { return s.End.Minus(s.Duration) }

// Times returns the sum of the CPU times of the pauses. It is known if the times of each
// pause are known.
func (s *Stop) Times() Times {
	sum := Times{Known: len(s.Pauses) > 0}
	for i := range s.Pauses {
		t := &s.Pauses[i].Times
		sum.User, sum.Sys, sum.Real = sum.User+t.User, sum.Sys+t.Sys, sum.Real+t.Real
		sum.Known = sum.Known && t.Known
	}
	return sum
}

// Wait is the wait of one thread until ZGC had memory for it, or had moved an object.
type Wait struct {
	Run        int
	Thread     string // untrusted
	End        Clock
	Duration   time.Duration
	Relocation bool // the thread waited for an object to be moved
	Line       uint64
}

// Run is one run of a JVM in a stream. The JVM logged its properties at its start; they are
// empty if the log lacks them.
type Run struct {
	Number     int  // from 1 up
	Started    bool // the log has the start of the JVM
	Mixed      bool // lines of two JVMs interleave; records joined from several lines are unreliable
	Collector  Collector
	Version    string
	First      Clock // of its first event
	RegionSize int64 // bytes, with G1; 0: unknown
	Workers    int   // parallel threads of the collector; 0: unknown
	Settings   []Setting
}
