package view

// Problem is something that is missing or that could not be read.
type Problem struct {
	Kind  ProblemKind `json:"kind"`
	Text  string      `json:"text"`
	Count uint64      `json:"count"`
	Loses bool        `json:"incomplete"` // the report lacks something because of it
}

// ProblemKind classifies problems.
type ProblemKind string

// The kinds of problems. The table of docs/report.md is made from the comments.
const (
	ProblemDropped   ProblemKind = "dropped"   // lines that the sidecar dropped
	ProblemAsync     ProblemKind = "jvm-async" // lines that the JVM dropped (`-Xlog:async`)
	ProblemFull      ProblemKind = "jvm-full"  // lines that the JVM lost because its disk or tmpfs was full
	ProblemMissed    ProblemKind = "missed"    // archives that the JVM overwrote before the sidecar read them
	ProblemTruncated ProblemKind = "truncated" // a file was truncated in place

	ProblemCut ProblemKind = "cut" // a copy of `kubectl ullage adopt` that was cut short, for example by the end of the JVM's container

	ProblemUnreadable ProblemKind = "unreadable" // files that cannot be opened, or bytes that do not decode
	ProblemMissing    ProblemKind = "missing"    // segments that are missing between others, as `ullage check` counts them
	ProblemSkipped    ProblemKind = "skipped"    // collections whose numbers are missing inside a run, two or more in a row, for example because a file of a rotated set was not copied
	ProblemHole       ProblemKind = "hole"       // memory that a sidecar has reclaimed: report on its destination instead
	ProblemUnread     ProblemKind = "unread"     // lines that look like a pause but have an unknown form, or are cut; also a last line that has no newline and begins like a pause
	ProblemUndated    ProblemKind = "undated"    // lines that `--since` and `--until` left out because [their time](#what-the-figures-mean) is not known, or that have no place on the timeline
	ProblemMixed      ProblemKind = "mixed"      // lines of two JVMs in one file: figures over time are left out

	ProblemMarked    ProblemKind = "marked"    // a remark: no log was read, and the figures are from the marks of the sidecar
	ProblemOutside   ProblemKind = "outside"   // a remark: stops of runs whose duration the log does not show, such as a run of one line
	ProblemOutputs   ProblemKind = "outputs"   // a remark: two streams seem to be outputs of one JVM. Stops that are in both count twice
	ProblemForeign   ProblemKind = "foreign"   // a remark: lines without decorations. A log without any line of Unified Logging is a loss, but not a run of a JVM
	ProblemLong      ProblemKind = "long"      // a remark: lines over 64 KiB
	ProblemClock     ProblemKind = "clock"     // a remark: the wall clock was changed
	ProblemOrder     ProblemKind = "order"     // a remark: the order of files is guessed
	ProblemRuns      ProblemKind = "runs"      // a remark: more than 200 runs
	ProblemAgain     ProblemKind = "again"     // a remark: files that the command line names more than once are read once
	ProblemRetention ProblemKind = "retention" // a remark: retention has deleted the beginning. It is a loss if `--since` is in that time
)
