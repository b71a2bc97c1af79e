package view

import "time"

// Bounds of a report.
const (
	MaxRuns   = 200  // number of runs that are listed
	MaxFlags  = 1024 // bytes of the flags of a run
	KeptBytes = 400  // bytes of a line of the log
)

// Report is the content of a report, in seconds and bytes. The comments of this file document its
// JSON form, and the table of docs/report.md is generated from the comments of the fields below.
type Report struct {
	Name     string  `json:"name"`     // what the report is about, as the command line names it
	Crashes  []Crash `json:"crashes"`  // crashes of JVMs, and JVMs that were killed or ended with a full heap, the latest first
	Complete bool    `json:"complete"` // whether the log shows no loss
	Axis
	Problems []Problem `json:"problems"` // what the figures lack, and remarks
	Inputs   []Input   `json:"inputs"`   // the streams that were read
	Runs     []Run     `json:"runs"`     // the JVMs, with collector, flags, throughput, worst minute, rates, heap, and the recommended heap
	Totals   Totals    `json:"totals"`   // counts and sums over all runs
	Tables
	Longest   []Stop   `json:"longest"`             // the ten longest stops, with their lines
	Suspected []*Stop  `json:"suspected"`           // the 20 longest suspected stops, with the lines around them
	Floor     float64  `json:"stall_floor_seconds"` // the shortest stop that can be suspected
	Bars      []Bar    `json:"histogram"`           // stops by duration
	Volume    Volume   `json:"volume"`              // lines and bytes by level and by tags
	Advice    []Advice `json:"advice"`              // advice with its evidence
	Bands     []Band   `json:"bands"`               // times when something was missing or [marked](read-logs.md#marks)
	Series    []Series `json:"timeline"`            // the longest stops over time, by kind
	Heap      Heap     `json:"heap"`                // the heap over time
}

// Axis is the axis of time of a report.
type Axis struct {
	Timed bool    `json:"timed"` // whether the lines have times
	Dated bool    `json:"dated"` // whether times are seconds since 1970, not of uptime
	Begin float64 `json:"begin"` // time of the first line
	End   float64 `json:"end"`   // time of the last line

	// whether lines without a date were dated from the start of their JVM, which the destination shows
	Estimated bool `json:"estimated"`
}

// Tables are durations by category.
type Tables struct {
	Spreads []Spread `json:"distributions"` // percentiles by what was measured
	Causes  []Spread `json:"causes"`        // percentiles of stops by cause
	Phases  []Spread `json:"phases"`        // percentiles by phase of pauses, and of what ran concurrently
}

// Crash is a crash of a JVM, from the report that the JVM left. It can also be the end of a JVM
// that was killed or had a full heap, from the mark of a sidecar. Its texts are untrusted.
type Crash struct {
	At      float64 `json:"at"`      // seconds since 1970, even if the log has no dates
	Marked  bool    `json:"marked"`  // the JVM did not crash, but a mark shows another abnormal end
	Reason  string  `json:"reason"`  // the signal, the error, or what ended the JVM; empty: the report does not show it
	File    string  `json:"file"`    // the stream that holds the report, or the file
	Command string  `json:"command"` // the command that prints the reports; empty: they are not in a destination
}

// Input is one stream that was read.
type Input struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	Bytes uint64 `json:"bytes"` // uncompressed
	Lines uint64 `json:"lines"`
}

// Run is one run of a JVM.
type Run struct {
	Stream string `json:"stream"`
	Number int    `json:"run"`
	JVM
	Begin      float64  `json:"begin"`
	End        float64  `json:"end"`
	Span       float64  `json:"seconds"` // 0: unknown
	Stops      uint64   `json:"stops"`
	Paused     float64  `json:"paused_seconds"`
	Throughput *float64 `json:"throughput"` // share of the time that the application could run
	Worst      *Minute  `json:"worst_minute"`
	Allocated  *float64 `json:"allocated_bytes_per_second"`
	Promoted   *float64 `json:"promoted_bytes_per_second"`
	HeapAfter  *float64 `json:"heap_after_gc_bytes"`
	Trend      *float64 `json:"heap_after_gc_trend_bytes_per_hour"`
	Metaspace  *float64 `json:"metaspace_bytes"` // after the last collection that shows it
	Started    bool     `json:"start_seen"`
	Sizing     *Sizing  `json:"heap_size"` // null: there was no collection, or two JVMs share the file
}

// Sizing is the size that the heap of a JVM should have, with the data from which the size is derived.
// Overheads are shares of the time. They include pauses, and concurrent work weighted by its share of
// the CPUs.
type Sizing struct {
	Refused     string        `json:"refused"`         // why there is no size; empty: there is one
	Target      float64       `json:"target_overhead"` // the share that collections should take
	Max         float64       `json:"max_bytes"`       // the value for -Xms and -Xmx
	Container   float64       `json:"container_bytes"` // the memory of the container, roughly
	Others      []ForOverhead `json:"others"`          // sizes for other overheads, if the log supports them
	Now         float64       `json:"now_bytes"`       // the largest heap that the JVM may have or, if that is unknown, that it had
	Overhead    *float64      `json:"overhead"`        // in the busiest hour, or in the whole log if that is shorter
	Live        float64       `json:"live_bytes"`      // the most live data after an old cycle
	Cycles      uint64        `json:"old_cycles"`
	Collections uint64        `json:"collections"`
	Starved     uint64        `json:"starved_collections"` // collections that found no room
	Humongous   uint64        `json:"humongous_collections"`
	Allocated   float64       `json:"allocated_bytes_per_second"`
	Span        float64       `json:"seconds"`
}

// ForOverhead is the size of the heap for one overhead.
type ForOverhead struct {
	Overhead float64 `json:"overhead"`
	Max      float64 `json:"max_bytes"`
}

// JVM has the known properties of a run's JVM. A field is empty if neither the log nor the
// marks show it.
type JVM struct {
	Collector string    `json:"collector"`
	Version   string    `json:"version"`
	Flags     string    `json:"flags"` // flags of the command line, as mark.Flags returns them; printable
	Settings  []Setting `json:"settings"`

	Born float64 `json:"-"` // when it started, on an axis of dates; 0: unknown
}

// Setting is a property that a JVM logged at its start.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Minute is the minute with the longest total of stops.
type Minute struct {
	Begin  float64 `json:"begin"`
	Paused float64 `json:"paused_seconds"`
}

// Totals holds counts and sums over all runs.
type Totals struct {
	Crashes     uint64   `json:"crashes"`
	Ends        uint64   `json:"ends"` // JVMs that were killed or ended with a full heap
	Stops       uint64   `json:"stops"`
	Paused      float64  `json:"paused_seconds"`
	Span        float64  `json:"seconds"`       // total of the runs whose time is known; 0: no run's time is known, or a run is mixed
	Outside     uint64   `json:"stops_outside"` // stops of the other runs, which are not included in Throughput
	Throughput  *float64 `json:"throughput"`
	Collections uint64   `json:"collections"`
	Full        uint64   `json:"full_collections"`
	Degenerated uint64   `json:"degenerated_collections"`
	Exhausted   uint64   `json:"evacuation_failures"`
	Humongous   uint64   `json:"humongous_collections"`
	Waits       uint64   `json:"allocation_stalls"`
	Failed      uint64   `json:"failed_allocations"` // threads to which Shenandoah could give no memory before a collection
	WaitSum     float64  `json:"allocation_stall_seconds"`
	Suspected   uint64   `json:"suspected_stalls"` // stops with any suspicion
	Concurrent  float64  `json:"concurrent_seconds"`

	Mixed bool `json:"mixed"` // a run mixes two JVMs, so figures over time have no total
}

// Spread is a distribution of durations. A percentile that needs more durations than
// there are is null.
type Spread struct {
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`
	Count       uint64      `json:"count"`
	Sum         float64     `json:"sum_seconds"`
	Max         float64     `json:"max_seconds"`
	Percentiles Percentiles `json:"percentiles"`
}

// Percentiles holds durations in seconds.
type Percentiles struct {
	P50    *float64 `json:"p50"`
	P90    *float64 `json:"p90"`
	P99    *float64 `json:"p99"`
	P999   *float64 `json:"p99.9"`
	P9999  *float64 `json:"p99.99"`
	P99999 *float64 `json:"p99.999"`
}

// Bar is one bar of the histogram of all stops.
type Bar struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count uint64  `json:"count"`
}

// Stop is one of the longest stops, or one of the longest suspected stops.
type Stop struct {
	Stream    string   `json:"stream"`
	Run       int      `json:"run"`
	At        *float64 `json:"at"` // the beginning of the stop; null: the log does not show it
	Kind      string   `json:"kind"`
	Cause     string   `json:"cause"`
	Duration  float64  `json:"seconds"`
	Reaching  *float64 `json:"reaching_safepoint_seconds"`
	User      *float64 `json:"user_seconds"`
	Sys       *float64 `json:"sys_seconds"`
	Real      *float64 `json:"real_seconds"`
	Suspicion string   `json:"suspicion"`
	Lines     []string `json:"lines"`
	Before    []string `json:"before,omitempty"` // for a suspected stop, the lines before Lines
	After     []string `json:"after,omitempty"`

	Length time.Duration `json:"-"`
}

// Volume is the amount of log by level and by tags, sorted by bytes.
type Volume struct {
	Levels []Share `json:"levels"`
	Tags   []Share `json:"tags"`
}

// Share is a part of the log.
type Share struct {
	Name  string `json:"name"`
	Lines uint64 `json:"lines"`
	Bytes uint64 `json:"bytes"`
}

// Advice is a suggestion that the numbers support.
type Advice struct {
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
}

// Band is a span of time, or an instant, at which something was missing or changed.
type Band struct {
	Kind  string  `json:"kind"` // dropped, jvm-async, jvm-full, missing, unreadable, hole, restart; by marks: raised, saved, missed, truncated, crash, sidecar, stalled
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Series holds the stops of one kind. In each short span of time, only the longest stop is
// kept.
type Series struct {
	Kind   string  `json:"kind"`
	Points []Point `json:"points"`
}

// Heap is the heap in use before and after collections, in bytes, and its size after them.
type Heap struct {
	Before   []Point `json:"before"`
	After    []Point `json:"after"`
	Capacity []Point `json:"capacity"`
}

// Point is a time and a value; N is the number of values that it represents.
type Point struct {
	At    float64 `json:"t"`
	Value float64 `json:"v"`
	N     int     `json:"n"`
}
