package pause

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// runs separates the runs of JVMs in a stream.
type runs struct {
	ul.Runs
	highest time.Duration // uptime in this run
	before  time.Duration // ... and in the previous run
	last    time.Duration // uptime of the last event
	passed  time.Duration // uptime of the last event before the uptimes passed the end of the previous run; -1: not yet
	fell    bool          // a collection number repeated, in a log without uptimes
	wentOn  bool          // ... and a higher number than ever followed
	swaps   int           // consecutive runs that each seem to continue the last run but one
	number  int64         // the highest number of a collection in the previous run; -1: there is none
	failed  bool          // a thread got no memory from Shenandoah, and the pause that makes room has not come yet
	done    int64         // one more than the highest number of a collection that a pause has ended; 0: none yet
}

// begin detects another JVM in a stream: the uptime falls back, the numbers of collections
// begin again, or the JVM logs its start. If the previous JVM continues after that, two JVMs
// write to one file.
func (j *Joiner) begin(e *Event) {
	restarted, isStart := false, e.Kind == Init && string(e.Name) == "Using"
	if isStart {
		j.runs.swaps, j.runs.passed = 0, -1 // JVMs that crash again and again run one after the other
	}
	switch up := j.clock.Uptime; {
	case j.run.Mixed:
	case j.resumes(e):
		j.mix()
	case !j.clock.HasUptime:
		restarted = e.GC == 0 && j.newest > maxOpen || e.GC >= 0 && e.GC+1000 < j.newest
	default:
		known := j.runs.Number() > 0
		if restarted = j.runs.Next(up) && known; j.runs.swapped(up, restarted) {
			restarted = false
			j.mix()
		}
	}
	if restarted || isStart && j.announced && !j.run.Mixed {
		j.restart()
	}
	j.newest = max(j.newest, e.GC)
	j.runs.highest = max(j.runs.highest, j.clock.Uptime)
}

// restart begins another run.
func (j *Joiner) restart() {
	j.Flush()
	j.runs.before, j.runs.number, j.runs.highest = j.runs.highest, j.newest, 0
	j.runs.done, j.runs.passed, j.runs.fell, j.runs.wentOn, j.runs.failed = 0, -1, false, false, false
	j.run = Run{Number: j.run.Number + 1}
	j.announced, j.newest, j.after, j.unpaired, j.timed, j.entered = false, -1, -1, 0, false, nil
	j.old.restart()
}

// resumes reports whether an event continues the previous run rather than this run.
func (j *Joiner) resumes(e *Event) bool {
	goesOn := e.GC > j.newest+1 && (e.GC == j.runs.number || e.GC == j.runs.number+1) && j.run.Number > 1
	if !j.clock.HasUptime {
		return goesOn && j.newest >= 0
	}
	return goesOn && j.clock.Uptime >= j.runs.before
}

// mostSwaps is how many consecutive runs must each seem to continue the last run but one, before
// two JVMs are assumed to write in turns. Fewer such runs may occur by chance, if a JVM crashes
// repeatedly at the same uptimes and logs two lines each time.
const mostSwaps = 4

// swapped takes the uptime of the next event, and whether that uptime falls back, which begins a
// run. It reports whether two JVMs write in turns. In that case, the uptime repeatedly passes the
// end of the previous run, as if the previous JVM continued, and then falls back only to where
// this run was before. After a restart, by contrast, the uptime falls back to the start of a JVM.
func (r *runs) swapped(up time.Duration, fallsBack bool) bool {
	switch {
	case fallsBack && r.passed >= 0 && up >= r.passed:
		r.swaps++
	case fallsBack:
		r.swaps = 0
	case r.passed < 0 && r.last < r.before && up >= r.before:
		r.passed = r.last
	}
	r.last = up
	return r.swaps >= mostSwaps
}

// mix records that the lines of two JVMs interleave.
func (j *Joiner) mix() {
	if j.run.Mixed = true; j.handlers.Run != nil {
		j.handlers.Run(&j.run)
	}
}

// finish takes the number of a collection that a pause has ended. Only these numbers distinguish
// JVMs that started together and write to one file: a JVM never repeats a number, and never
// returns to a lower one, except to end a collection that contains another collection. If the
// uptime falls back as well, the JVM may simply have been restarted soon after its start.
func (j *Joiner) finish(number int64) {
	again := number+1 == j.runs.done || number+3 <= j.runs.done
	switch {
	case j.run.Mixed:
	case !j.clock.HasUptime:
		// A restarted JVM reaches each number again. There are two JVMs only if the numbers of the
		// first JVM have continued in between.
		if again && j.runs.wentOn {
			j.mix()
		}
		if again {
			j.runs.fell, j.after = true, -1
		}
		j.runs.wentOn = j.runs.fell && (j.runs.wentOn || number >= j.runs.done)
	case again && j.clock.Uptime >= j.runs.highest:
		j.mix()
	}
	j.runs.done = max(j.runs.done, number+1)
}

// takeInit records a property of the JVM.
func (j *Joiner) takeInit(e *Event) {
	value := string(e.Value)
	switch string(e.Name) {
	case "Using":
		j.run.Started = true
		j.setCollector(using[value])
		return
	case "Version":
		j.run.Version = value
	case "Heap Region Size":
		j.run.RegionSize = parseSize(value)
	case "Parallel Workers", "GC Workers", "GC Workers Max":
		number, _, _ := strings.Cut(value, " ")
		j.run.Workers, _ = strconv.Atoi(number)
	}
	if len(j.run.Settings) < maxSettings {
		j.run.Settings = append(j.run.Settings, Setting{Name: string(e.Name), Value: value})
	}
}

// setCollector records the collector that a line shows. ZGC becomes generational ZGC as
// soon as a line names a generation.
func (j *Joiner) setCollector(c Collector) {
	if j.run.Collector == "" || j.run.Collector == Z && c == GenerationalZ {
		j.run.Collector = c
	}
}

// parseSize reads a size in HotSpot's form, such as "1M", or returns 0.
func parseSize(text string) int64 {
	if text == "" {
		return 0
	}
	value, rest, ok := size([]byte(text), text[len(text)-1])
	if !ok || len(rest) > 0 {
		return 0
	}
	return value
}

// guess records the collector from a line that only one collector writes, if the log lacks
// the start of the JVM.
func (j *Joiner) guess(e *Event) {
	if e.Old || e.Young {
		j.setCollector(GenerationalZ)
	}
	if j.run.Collector != "" {
		return
	}
	begins := func(prefix string) bool { return bytes.HasPrefix(e.Name, []byte(prefix)) }
	switch {
	case e.Kind == Space && e.Regions, e.Kind == Begin && bytes.HasSuffix(e.Name, []byte("Cycle")), bytes.Contains(e.Name, []byte("(G1 ")):
		j.setCollector(G1)
	case e.Kind == Space && (begins("DefNew") || begins("Tenured")):
		j.setCollector(Serial)
	case e.Kind == Space && (begins("PS") || begins("ParOldGen")):
		j.setCollector(Parallel)
	case e.Kind == Space && (begins("ParNew") || begins("CMS")):
		j.setCollector(CMS)
	case e.Kind == Begin, e.Kind == Cycle:
		j.setCollector(Z)
	case e.Kind == Cancel:
		j.setCollector(Shenandoah)
	case e.Kind == Pause && (begins("Init ") || begins("Final ") || begins("Degenerated")):
		j.setCollector(Shenandoah)
	}
}

// collects reports whether a VM operation that does not belong to a collector begins with a
// collection.
func collects(operation string) bool {
	return operation == "HeapDumper" || operation == "GC_HeapInspection"
}

// isCollection reports whether a VM operation belongs to a collector.
func isCollection(operation string) bool {
	for _, prefix := range [...]string{"G1", "Z", "X", "Shenandoah", "Parallel", "Serial", "Gen", "Collect", "CMS", "CGC"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}
