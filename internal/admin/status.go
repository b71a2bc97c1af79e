package admin

import "time"

// MaxStreams bounds how many streams a [Status] lists.
const MaxStreams = 200

// Status is what /status answers, as JSON, and what `ullage status` reads. It
// is a contract between versions: a field may be added, none changes its
// meaning. Sizes are in bytes. A zero time or an empty text means "none yet".
// The fields of embedded types stand beside the others in the JSON.
type Status struct {
	Version       string    `json:"version"`
	Started       time.Time `json:"started,omitzero"`
	UptimeSeconds float64   `json:"uptimeSeconds"`

	Source      string `json:"source"`
	Destination string `json:"destination"`

	// Ready and Reason are what /readyz says. Reason is empty when ready.
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`

	Reclaim  Reclaim `json:"reclaim"`
	Compress string  `json:"compress"`

	Space

	// LagSeconds is the age of the oldest line that is not yet durable.
	LagSeconds float64   `json:"lagSeconds"`
	LastCommit time.Time `json:"lastCommit,omitzero"`

	Lines

	DestinationErrors Errors `json:"destinationErrors"`

	// Streams lists at most MaxStreams; the rest are only counted.
	Streams        []Stream `json:"streams"`
	StreamsOmitted int      `json:"streamsOmitted,omitempty"`

	// Ignored counts what the source directory holds and the sidecar leaves
	// alone, by reason. The reasons are a fixed, small set.
	Ignored map[string]int64 `json:"ignored,omitempty"`

	// Levels is how the JVMs' log levels are. Nil: they are left alone.
	Levels *Levels `json:"levels,omitempty"`
}

// Space is what the source and the queue hold, and may hold.
type Space struct {
	BacklogBytes       int64 `json:"backlogBytes"`
	SpooledBytes       int64 `json:"spooledBytes"` // of the backlog: lines in the spool, before compression
	HeadroomBytes      int64 `json:"headroomBytes"`
	BudgetBytes        int64 `json:"budgetBytes"`
	QueueUsedBytes     int64 `json:"queueUsedBytes"`
	QueueCapacityBytes int64 `json:"queueCapacityBytes"`
}

// Lines is what became of the lines.
type Lines struct {
	Read      Volume `json:"read"`
	Persisted Volume `json:"persisted"`

	// Dropped is what was dropped to keep headroom, and Dropping the reason for
	// which lines are dropped now, "discard" or "drop". Empty: none are.
	Dropped  Volume `json:"dropped"`
	Dropping string `json:"dropping,omitempty"`

	// JVMLost counts lines that JVMs did not write, as far as they show it.
	JVMLost JVMLost `json:"jvmLost"`
}

// Levels is what log level is wanted, and what the JVMs have.
type Levels struct {
	// Raise is the raise in effect. Nil: every JVM has its own level, or is to.
	Raise *Raise `json:"raise,omitempty"`

	// JVMs are those that were found. None are looked for while nothing is
	// raised.
	JVMs []JVM `json:"jvms,omitempty"`

	// Annotations are the bad ones among the annotations.
	Annotations []Annotation `json:"annotations,omitempty"`

	// Errors are those that hold now: of finding, raising and restoring.
	Errors []string `json:"errors,omitempty"`

	Trigger *Trigger `json:"trigger,omitempty"` // nil: none is set

	// OtherLogs are files outside of the source to which JVMs log as well, and for
	// whose disks they wait: "pid 1: /data/gc.log". Untrusted, and at most 20.
	OtherLogs []string `json:"otherLogs,omitempty"`

	// Reconciled is when all JVMs last had what is wanted.
	Reconciled time.Time `json:"reconciled,omitzero"`
}

// Raise is a log selection on top of the JVMs' own, for a while.
type Raise struct {
	Cause     string    `json:"cause"` // "annotation", "trigger" or "command"
	Why       string    `json:"why"`
	Selection string    `json:"selection"`
	ID        string    `json:"id,omitempty"` // of the annotation log-id
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
}

// JVM is one JVM's part of it.
type JVM struct {
	PID int `json:"pid"` // as the JVM sees itself

	// Applied is the selection that the JVM took. Empty: it has its own level.
	Applied string   `json:"applied,omitempty"`
	Outputs []string `json:"outputs,omitempty"` // those that were raised
	Error   string   `json:"error,omitempty"`
	Kind    string   `json:"kind,omitempty"` // of the error
}

// Annotation is a bad annotation. Nothing is changed by it.
type Annotation struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Problem string `json:"problem"`
}

// Trigger is what raises the level by itself.
type Trigger struct {
	Conditions string    `json:"conditions"`
	Armed      bool      `json:"armed"`
	QuietUntil time.Time `json:"quietUntil,omitzero"` // the end of the cool-down
}

// Reclaim is how consumed tmpfs memory is given back.
type Reclaim struct {
	Mode string `json:"mode"`          // in effect: "punch", "unlink" or "none"
	Why  string `json:"why,omitempty"` // why this one, when it was not simply asked for
}

// Volume counts complete lines and their bytes since the process started.
type Volume struct {
	Lines int64 `json:"lines"`
	Bytes int64 `json:"bytes"`
}

// JVMLost counts lines that never reached the source.
type JVMLost struct {
	Async int64 `json:"async"` // lines that -Xlog:async says that it dropped
	Cut   int64 `json:"cut"`   // lines that a full tmpfs cut; others may be lost whole
}

// Errors counts failures since the process started. The last one is shown while
// it goes on, and for an hour after it is over.
type Errors struct {
	Count  int64     `json:"count"`
	Last   string    `json:"last,omitempty"`
	LastAt time.Time `json:"lastAt,omitzero"`
}

// Stream is one `-Xlog` output as it stands. Its name comes from file names in
// the source directory, so it is untrusted: quote it before it meets a terminal.
type Stream struct {
	Name           string `json:"name"`
	Files          int    `json:"files"`
	ReadBytes      int64  `json:"readBytes"`
	PersistedLines int64  `json:"persistedLines"`
	PersistedBytes int64  `json:"persistedBytes"`
	DroppedLines   int64  `json:"droppedLines,omitempty"`
	BacklogBytes   int64  `json:"backlogBytes"`

	// Segment is the active segment's file name; empty where none is open.
	Segment      string `json:"segment,omitempty"`
	SegmentBytes int64  `json:"segmentBytes,omitempty"`

	// Refused is why the destination does not take this stream while it takes
	// others. Empty: it does.
	Refused string `json:"refused,omitempty"`
}

// AddStream lists one more stream, or counts it as omitted once the list is
// full. A caller that adds the most important streams first loses the least.
func (s *Status) AddStream(st Stream) {
	if len(s.Streams) >= MaxStreams {
		s.StreamsOmitted++
		return
	}
	s.Streams = append(s.Streams, st)
}
