package admin

import (
	"cmp"
	"fmt"
	"time"
)

// MaxStreams bounds how many streams a [Status] lists.
const MaxStreams = 200

// Status is the answer of /status, as JSON, and the input of `ullage status`. It is a contract
// between versions: a version may add fields, but the meaning of a field never changes. Sizes
// are in bytes. A zero time or an empty text means "none yet". The JSON has the fields of
// embedded types at the top level.
type Status struct {
	Version       string    `json:"version"`
	Started       time.Time `json:"started,omitzero"`
	UptimeSeconds float64   `json:"uptimeSeconds"`

	Where

	// Ready and Reason are the answer of /readyz. Reason is empty when ready.
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`

	Reclaim  Reclaim `json:"reclaim"`
	Compress string  `json:"compress"`

	Space

	Progress
	Lines
	Held

	// Hindsight describes the withheld lines that are held. Nil: none are held.
	Hindsight *Hindsight `json:"hindsight,omitempty"`

	DestinationErrors Errors `json:"destinationErrors"`

	// Streams lists at most MaxStreams streams; StreamsOmitted counts the
	// others.
	Streams        []Stream `json:"streams"`
	StreamsOmitted int      `json:"streamsOmitted,omitempty"`

	// Sinks are the further destinations.
	Sinks []Sink `json:"sinks,omitempty"`

	// Ignored counts the entries of the source directory that the sidecar does
	// not follow, by reason. The reasons are a small fixed set.
	Ignored map[string]int64 `json:"ignored,omitempty"`

	// JVMEnd is the last abnormal end of a JVM since the process started. Nil: there was none.
	JVMEnd *JVMEnd `json:"jvmEnd,omitempty"`

	// Levels is the state of the JVMs' log levels. Nil: the sidecar does not change levels, and
	// nothing asks it to.
	Levels *Levels `json:"levels,omitempty"`
}

// Now returns the time at which the sidecar answered, by the sidecar's clock, which may differ
// from ours.
func (s *Status) Now() time.Time {
	if s.Started.IsZero() {
		return time.Now()
	}
	return s.Started.Add(time.Duration(s.UptimeSeconds * float64(time.Second)))
}

// Where names the pod, the source and the destination of the sidecar.
type Where struct {
	// Pod is the name of the pod, or of the machine outside of Kubernetes. Empty: an earlier
	// version of the sidecar, which does not report it.
	Pod         string `json:"pod,omitempty"`
	Source      string `json:"source"`
	Destination string `json:"destination"`

	// JVMUser is the user of the JVM if the sidecar runs as a different user. The sidecar then
	// frees the memory of a log only when the log is rotated, and cannot change log levels. Nil:
	// both have the same user, or no JVM has written yet.
	JVMUser *JVMUser `json:"jvmUser,omitempty"`
}

// Space is the memory that the source and the queue use, and the memory that they may use.
type Space struct {
	BacklogBytes       int64 `json:"backlogBytes"`
	SpooledBytes       int64 `json:"spooledBytes"` // the part of the backlog that is in the spool, before compression
	HeadroomBytes      int64 `json:"headroomBytes"`
	BudgetBytes        int64 `json:"budgetBytes"`
	BudgetUsedBytes    int64 `json:"budgetUsedBytes"` // memory of the source files and of the spool
	QueueUsedBytes     int64 `json:"queueUsedBytes"`
	QueueCapacityBytes int64 `json:"queueCapacityBytes"`

	// Rings are the rings of events in the source. Their memory belongs to the JVMs.
	Rings []Ring `json:"rings,omitempty"`
}

// FreeShare returns the free part of the budget, 0 to 1, or 0 if no budget is known. The used
// part decides when lines are compressed and dropped, no matter how much of the tmpfs is free.
func (s Space) FreeShare() float64 {
	if s.BudgetBytes <= 0 {
		return 0
	}
	return min(1, max(0, 1-float64(s.BudgetUsedBytes)/float64(s.BudgetBytes)))
}

// Ring is the ring into which a JVM writes its events.
type Ring struct {
	Name          string `json:"name"`
	PID           int64  `json:"pid"` // the process ID that the JVM sees
	CapacityBytes int64  `json:"capacityBytes"`
	UsedBytes     int64  `json:"usedBytes"`           // by events that have not been taken out yet
	Abandoned     bool   `json:"abandoned,omitempty"` // the JVM continues in another ring
	Ended         bool   `json:"ended,omitempty"`     // the JVM is gone
	Problem       string `json:"problem,omitempty"`   // why events are not taken out now
}

// Progress is how far the durable copy lags the source.
type Progress struct {
	// LagSeconds is the age of the oldest line that is not yet durable.
	LagSeconds float64   `json:"lagSeconds"`
	LastCommit time.Time `json:"lastCommit,omitzero"`

	// Unpersisted describes the lines that the durable copy did not show yet at SeenAt. A zero
	// SeenAt: the source was not opened yet.
	Unpersisted Unpersisted `json:"unpersisted,omitzero"`
	SeenAt      time.Time   `json:"seenAt,omitzero"`
}

// Unpersisted describes the lines of JVMs that the durable copy does not show yet. An
// unterminated last line is not included.
type Unpersisted struct {
	Bytes        int64     `json:"bytes"`                  // of lines that are not durable
	DroppedLines int64     `json:"droppedLines,omitempty"` // at places whose marker is not durable
	Since        time.Time `json:"since,omitzero"`         // everything that was in the source by then is durable; zero: nothing is missing
}

// Add adds the Unpersisted of another part of the sidecar.
func (u *Unpersisted) Add(o Unpersisted) {
	u.Bytes += o.Bytes
	u.DroppedLines += o.DroppedLines
	if u.Since.IsZero() || !o.Since.IsZero() && o.Since.Before(u.Since) {
		u.Since = o.Since
	}
}

// Lines counts lines by their fate.
type Lines struct {
	Read      Volume `json:"read"`
	Persisted Volume `json:"persisted"`

	// Dropped counts the lines dropped to keep headroom. Dropping says which lines are being dropped
	// now: "discard": lines below the keep level; "drop": lines of any level. Empty: none are being
	// dropped.
	Dropped  Volume `json:"dropped"`
	Dropping string `json:"dropping,omitempty"`

	// Withheld counts the lines below the persist level, which are not persisted in their stream.
	// Saved counts the withheld lines that are persisted after all, in another stream.
	Withheld Volume `json:"withheld,omitzero"`
	Saved    int64  `json:"saved,omitempty"`

	// ByLevel has the persisted lines by level, and DroppedBy the dropped lines by reason and
	// level. Levels without lines are left out.
	ByLevel   map[string]int64            `json:"byLevel,omitempty"`
	DroppedBy map[string]map[string]int64 `json:"droppedBy,omitempty"`

	// Events counts the events that were taken out of rings. Each event is a line. EventsDropped
	// counts the events for which a ring had no room, according to markers.
	Events        int64 `json:"events,omitempty"`
	EventsDropped int64 `json:"eventsDropped,omitempty"`

	// JVMLost counts the lines that the JVMs themselves lost, if their logs show the loss.
	JVMLost JVMLost `json:"jvmLost"`

	// JVMCrashes counts the reports of crashes (hs_err files) since the process
	// started.
	JVMCrashes int64 `json:"jvmCrashes,omitempty"`
}

// JVMEnd is how a JVM ended, according to the mark jvm-ended.
type JVMEnd struct {
	At     time.Time `json:"at"` // when it was seen
	PID    int       `json:"pid"`
	Stream string    `json:"stream"`
	How    string    `json:"how,omitempty"`   // "exited", "killed" or "crashed"; empty: unknown
	Cause  string    `json:"cause,omitempty"` // "memory-limit", "memory-above" or "heap"; empty: unknown
	Why    string    `json:"why,omitempty"`   // the evidence and its numbers, for people
}

// Text returns which JVM ended, and how or why.
func (e *JVMEnd) Text() string {
	return fmt.Sprintf("pid %d: %s", e.PID, cmp.Or(e.Why, e.How, "it is not known how"))
}

// Hindsight describes the lines below the persist level that the tmpfs holds.
type Hindsight struct {
	Bytes int64     `json:"bytes"`          // compressed
	Since time.Time `json:"since,omitzero"` // when the oldest of them were written
	Until time.Time `json:"until,omitzero"` // lines written before this time are persisted after all
}

// Held describes the content of the destination.
type Held struct {
	// Reaches is when the oldest segment of all streams was begun. Zero: there is no segment.
	Reaches time.Time `json:"reaches,omitzero"`

	Segments        int64 `json:"segments"`
	DeletedSegments int64 `json:"deletedSegments"`      // by retention, since the process started
	CutBytes        int64 `json:"cutBytes,omitempty"`   // damaged ends that recovery cut, on disk, since the process started
	FreeBytes       int64 `json:"destinationFreeBytes"` // of the destination's file system, when that last answered
}

// JVMUser is the user of a JVM, according to the owner of its log.
type JVMUser struct {
	UID uint32  `json:"uid"`
	GID *uint32 `json:"gid,omitempty"` // nil: unknown, because files get the group of the volume (fsGroup)

	// Advice is a text for people: it names the JVM's user and what to write into the pod, as in
	// "the JVM runs as 1001:0: set runAsUser: 1001, runAsGroup: 0".
	Advice string `json:"advice"`
}

// Levels holds the wanted log level and the levels of the JVMs.
type Levels struct {
	// Off reports that the sidecar does not change levels. The other fields then show what
	// annotations ask for, without effect.
	Off bool `json:"off,omitempty"`

	// Raise is the raise in effect. Nil: every JVM has its own level, or is
	// being restored.
	Raise *Raise `json:"raise,omitempty"`

	// App is the raise of the application's events in effect, or nil.
	App *AppRaise `json:"app,omitempty"`

	// JVMs are the JVMs found. The sidecar does not look for JVMs while nothing is
	// raised.
	JVMs []JVM `json:"jvms,omitempty"`

	// Annotations are the bad annotations.
	Annotations []Annotation `json:"annotations,omitempty"`

	// Errors are the current errors of finding, raising and restoring.
	Errors []string `json:"errors,omitempty"`

	Trigger *Trigger `json:"trigger,omitempty"` // nil: no trigger is set

	// OtherLogs are log files, such as "pid 1: /data/gc.log", that JVMs write outside of the
	// source. The JVMs wait for the disks of these files. There are at most 20; they are
	// untrusted.
	OtherLogs []string `json:"otherLogs,omitempty"`

	// Reconciled is when all JVMs last had the wanted selection.
	Reconciled time.Time `json:"reconciled,omitzero"`
}

// AppRaise is a temporary raise of the level of the application's events.
type AppRaise struct {
	Cause string    `json:"cause"`        // "annotation" or "command"
	Level string    `json:"level"`        // the lowest wanted level of any logger
	ID    string    `json:"id,omitempty"` // the annotation app-log-id
	Until time.Time `json:"until"`
}

// Raise is a log selection that temporarily applies in addition to the JVMs' own.
type Raise struct {
	Cause     string    `json:"cause"` // "annotation", "trigger" or "command"
	Why       string    `json:"why"`
	Selection string    `json:"selection"`
	Stream    string    `json:"stream,omitempty"` // only streams that match this pattern are raised; empty: all streams whose lines show their level
	ID        string    `json:"id,omitempty"`     // the annotation log-id
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
}

// JVM is the status of one JVM.
type JVM struct {
	PID int `json:"pid"` // the process ID that the JVM sees

	// Applied is the raise that the JVM accepted. Empty: the JVM has its own level.
	Applied string   `json:"applied,omitempty"`
	Outputs []string `json:"outputs,omitempty"` // the raised outputs

	// Adopted is the selection of the output that the sidecar gave the JVM. Empty: there is no
	// such output.
	Adopted string `json:"adopted,omitempty"`
	Error   string `json:"error,omitempty"`
	Kind    string `json:"kind,omitempty"` // the kind of Error
}

// Annotation is a bad annotation. It has no effect.
type Annotation struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Problem string `json:"problem"`
}

// Trigger is the condition under which the sidecar itself raises the level.
type Trigger struct {
	Conditions string    `json:"conditions"`
	Armed      bool      `json:"armed"`
	Disarmed   string    `json:"disarmed,omitempty"`  // why it is not armed
	Never      string    `json:"never,omitempty"`     // why the trigger cannot fire, or one of its conditions cannot be met
	Missed     int64     `json:"missed,omitempty"`    // lines that met a condition while it was not armed, since the process started
	QuietUntil time.Time `json:"quietUntil,omitzero"` // the earliest time at which it is armed
}

// Reclaim is how memory of the tmpfs is reclaimed.
type Reclaim struct {
	Mode string `json:"mode"`          // the mode in effect: "punch", "unlink" or "none"
	Why  string `json:"why,omitempty"` // why this mode, unless a flag set it
}

// Volume counts complete lines and their bytes since the process started.
type Volume struct {
	Lines int64 `json:"lines"`
	Bytes int64 `json:"bytes"`
}

// JVMLost counts lines that never reached the source.
type JVMLost struct {
	Async int64 `json:"async"` // lines that -Xlog:async reported as dropped
	Cut   int64 `json:"cut"`   // lines that a full tmpfs cut; others may be lost completely
}

// Errors counts failures since the process started. The last error is shown
// while it lasts and for an hour afterwards.
type Errors struct {
	Count  int64     `json:"count"`
	Last   string    `json:"last,omitempty"`
	LastAt time.Time `json:"lastAt,omitzero"`
}

// Stream is the state of one `-Xlog` output. Its name comes from file names in
// the source directory and is untrusted: escape it before printing it on a
// terminal.
type Stream struct {
	Name           string `json:"name"`
	Kind           string `json:"kind,omitempty"`   // empty: a log; "crash", "replay" or "vm-output": what a crash left
	Format         string `json:"format,omitempty"` // of the last record that was read: "ul", "pattern", "jul" or "json"; empty: none was recognized
	Files          int    `json:"files"`
	ReadBytes      int64  `json:"readBytes"`
	PersistedLines int64  `json:"persistedLines"`
	PersistedBytes int64  `json:"persistedBytes"`
	DroppedLines   int64  `json:"droppedLines,omitempty"`
	BacklogBytes   int64  `json:"backlogBytes"`

	Unpersisted Unpersisted `json:"unpersisted,omitzero"`

	// Segment is the active segment's file name; empty if none is open.
	Segment      string `json:"segment,omitempty"`
	SegmentBytes int64  `json:"segmentBytes,omitempty"`

	// Refused is why the destination refuses this stream but accepts others.
	// Empty: the destination accepts the stream.
	Refused string `json:"refused,omitempty"`
}

// Sink is the state of a further destination. Its counts are since the process started.
type Sink struct {
	Name            string  `json:"name"`
	URL             string  `json:"url"`
	LagSeconds      float64 `json:"lagSeconds"`   // the age of the oldest durable line that it has not acknowledged
	BacklogBytes    int64   `json:"backlogBytes"` // of segments, on disk, that it has not acknowledged
	Lines           int64   `json:"lines"`        // acknowledged, by a sink of lines
	Segments        int64   `json:"segments"`     // acknowledged, by a sink of whole segments
	Bytes           int64   `json:"bytes"`        // of lines or segments
	RejectedLines   int64   `json:"rejectedLines,omitempty"`
	RejectedBytes   int64   `json:"rejectedBytes,omitempty"`
	SkippedSegments int64   `json:"skippedSegments,omitempty"` // retention deleted them first
	Failure         string  `json:"failure,omitempty"`         // why it acknowledges nothing now
	Note            string  `json:"note,omitempty"`            // which documented promises it does not keep
}
