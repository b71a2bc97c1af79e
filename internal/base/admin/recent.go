package admin

import "time"

// Bounds of the lists in a [Recent].
const (
	MaxPauses = 50
	MaxGaps   = 20
)

// Recent is the answer of /recent, as JSON: the last events since the process
// started. Each list is bounded, and the newest event is last. As in a [Status], fields may be
// added, but the meaning of a field never changes.
type Recent struct {
	Pauses []Pause `json:"pauses"`
	Gaps   []Gap   `json:"gaps"`
}

// Pause is a stop of all threads of a JVM. It appears once even if several lines show it. Its
// Name consists only of HotSpot's own words, whatever the log says.
type Pause struct {
	At      time.Time `json:"at"` // when it ended
	Stream  string    `json:"stream,omitempty"`
	Name    string    `json:"name"`
	Seconds float64   `json:"seconds"`

	// ReachSeconds is how long the threads took to stop; 0 if the log does not say.
	ReachSeconds float64 `json:"reachSeconds,omitempty"`

	// Verdict is the suspected cause of the pause, as the label of
	// ullage_jvm_stalls_suspected_total. Empty: there is none, or the pause is not judged yet.
	Verdict string `json:"verdict,omitempty"`

	// Evidence is a text with what the kernel showed during the stop. Empty: it showed nothing
	// unusual.
	Evidence string `json:"evidence,omitempty"`
}

// Gap describes lines that were dropped at one place of a stream. Its marker is in the
// segments.
type Gap struct {
	Stream string    `json:"stream"`
	First  time.Time `json:"first"` // when the first of the lines was dropped
	Last   time.Time `json:"last"`
	Lines  int64     `json:"lines"`
	Bytes  int64     `json:"bytes"`

	ByLevel map[string]int64 `json:"byLevel"` // levels without lines are left out
}
