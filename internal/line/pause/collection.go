package pause

import "time"

// Clock is when a line was written. The zero value is that nothing is known.
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

// Times are CPU times and the real time that they belong to, as the JVM measured them:
// in hundredths of a second, and those of all threads of the process together.
type Times struct {
	User, Sys, Real time.Duration
	Known           bool // the log has them
}

// GCPause is one pause of a collector, as its line, the line with its CPU times and the
// lines of its collection describe it.
type GCPause struct {
	GC        int64 // number of the collection
	Collector Collector
	Name      string // as in [Event.Name]; untrusted
	Action    string // as [Event.Action]
	Cause     string // as [Event.Cause]; that of the collection, where the line has none
	End       Clock
	Duration  time.Duration
	Heap      Heap
	Times     Times
	Workers   int    // threads that worked in it; 0: not known
	Line      uint64 // number of its line in the stream, from 1 up
}

// Collection is one collection: a pause, or a concurrent cycle with its pauses. A
// collection that began before the log's first line, or goes on at its last, is marked
// [Cut].
type Collection struct {
	Run       int // number of the run of a JVM in the stream, from 1 up
	GC        int64
	Collector Collector
	Name      string // of the cycle, or else of the longest pause; untrusted
	Action    string // as [Event.Action], of Name
	Cause     string // as [Event.Cause]

	Start, End Clock

	Pauses     []GCPause     // the first of them, in order
	Count      int           // how many pauses it had
	Paused     time.Duration // the sum of all of them
	Concurrent time.Duration // the sum of its concurrent phases, which may overlap

	Heap      Heap // from the first line with a size to the last
	Metaspace Heap
	Old       Heap  // of the old generation; only Serial, Parallel and CMS show its size
	Live      int64 // bytes that ZGC found in use, in all of the heap or in the generations that it collected; -1: not known
	Promoted  int64 // bytes by which the old generation grew in a young collection; -1: not known
	Allocated int64 // bytes allocated since the collection before it; -1: not known
	Marks     Marks

	Lines [2]uint64 // numbers of its first and its last line
}

// LiveData returns the heap in use after a collection of the whole heap or, for G1, of
// the old regions that were worth it.
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
	Cut               Marks = 1 << iota // the log does not have all of it
	Full                                // a full collection
	Degenerated                         // Shenandoah went on with the world stopped
	EvacuationFailure                   // there was no room to move objects to, or an object was pinned; of CMS, the old generation was full before its collection had ended
	Humongous                           // G1 had humongous objects, or made room for one
)

// Stop is one stop of the application: a safepoint, with what the collector did in it.
// A stop is reported once, whichever lines show it. Without a safepoint line, a pause of
// the collector is a stop of its own.
type Stop struct {
	Run       int
	Operation string        // as [Event.Operation]; "none" where no line has it
	Name      string        // as in [Event.Name], untrusted
	End       Clock         // of its last line
	Duration  time.Duration // of the safepoint, or of the pause if no line shows a safepoint
	Safepoint bool          // a line shows the safepoint, so that the following parts are known
	Reaching  time.Duration
	Cleanup   time.Duration
	At        time.Duration
	Leaving   time.Duration
	Pauses    []GCPause // in it, in order; at most eight
	Lines     [2]uint64
}

// Start returns when the stop began.
func (s *Stop) Start() Clock { return s.End.Minus(s.Duration) }

// Times returns the sum of the CPU times of the pauses. They are known if those of each
// pause are.
func (s *Stop) Times() Times {
	sum := Times{Known: len(s.Pauses) > 0}
	for i := range s.Pauses {
		t := &s.Pauses[i].Times
		sum.User, sum.Sys, sum.Real = sum.User+t.User, sum.Sys+t.Sys, sum.Real+t.Real
		sum.Known = sum.Known && t.Known
	}
	return sum
}

// Wait is one thread that waited until ZGC had memory for it, or had moved an object.
type Wait struct {
	Run        int
	Thread     string // untrusted
	End        Clock
	Duration   time.Duration
	Relocation bool // it waited for an object to be moved
	Line       uint64
}

// Run is one run of a JVM in a stream. Its properties are as the JVM logged them at its
// start, and empty where the log does not have them.
type Run struct {
	Number     int  // from 1 up
	Started    bool // the log has the start of the JVM
	Mixed      bool // lines of two JVMs interleave; what is joined across lines is not reliable
	Collector  Collector
	Version    string
	First      Clock // of its first event
	RegionSize int64 // bytes, of G1; 0: not known
	Workers    int   // parallel threads of the collector; 0: not known
	Settings   []Setting
}
