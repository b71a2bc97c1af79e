package pause

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// readIndented reads a message that begins with a space: a phase, or a row of a table. Most
// lines of a debug log are parts of phases, which are not events.
func (e *Event) readIndented(text []byte) bool {
	indent := 1
	for indent < len(text) && text[indent] == ' ' {
		indent++
	}
	if indent == outermost && e.readPhase(text[indent:]) {
		return true
	}
	return e.readRow(text[indent:])
}

// outermost is the indentation of the outermost phases of G1, which add up to the pause.
// Lines with more indentation are parts of these phases.
const outermost = 2

// readPhase reads "Evacuate Collection Set: 1.2ms", a phase of a pause of G1.
func (e *Event) readPhase(text []byte) bool {
	if len(text) == 0 || !isLetter(text[0]) {
		return false
	}
	name, number, ok := bytes.Cut(text, []byte(": "))
	return ok && e.readPhaseOf(name, number)
}

// fullPhases are the phases of a full collection of Parallel. Unlike those of Serial and G1, they
// do not begin with "Phase n: ".
var fullPhases = index("Marking Phase", "Summary Phase", "Adjust Roots", "Forward", "Adjust Pointers", "Compaction Phase", "Post Compact")

// readFullPhase reads "Phase 1: Mark live objects 2.9ms", of a full collection.
func (e *Event) readFullPhase(text []byte) bool {
	if text[len(text)-1] != 's' {
		return false
	}
	i := bytes.LastIndexByte(text, ' ')
	if i < 0 {
		return false
	}
	if _, known := fullPhases[string(text[:i])]; !known && !bytes.HasPrefix(text, []byte("Phase ")) {
		return false
	}
	return e.readPhaseOf(text[:i], text[i+1:])
}

// ofPhases reports whether the tags of a record, if any, are those of outermost phases.
func ofPhases(r *ul.Record) bool { return r.Present&ul.Tags == 0 || string(r.Tags) == "gc,phases" }

func (e *Event) readPhaseOf(name, number []byte) bool {
	number, unit := bytes.CutSuffix(number, []byte("ms"))
	if !unit || !isPauseName(name) {
		return false
	}
	e.Kind, e.Name = Phase, name
	var ok bool
	e.Duration, ok = decimal(number, time.Millisecond)
	return ok
}
