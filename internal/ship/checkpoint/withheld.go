package checkpoint

import (
	"errors"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/hindsight"
)

// Levels holds numbers of lines, by level.
type Levels [ul.NumLevels]uint64

// Withheld counts the lines that were withheld since the first checkpoint. The zero value
// counts none.
type Withheld struct {
	Held  hindsight.State   `json:"held,omitzero"`   // the place of the held lines
	Lines map[string]Levels `json:"lines,omitempty"` // the numbers of withheld lines, by stream; see Add
}

// pastStreams represents the streams that were forgotten.
const pastStreams = ""

// Add counts lines of a stream.
func (w *Withheld) Add(stream string, lines Levels) {
	if lines == (Levels{}) {
		return
	}
	if w.Lines == nil {
		w.Lines = map[string]Levels{}
	}
	sum := w.Lines[stream]
	for level, n := range lines {
		sum[level] += n
	}
	w.Lines[stream] = sum
}

// Total returns how many lines of all streams were withheld.
func (w *Withheld) Total() (sum Levels) {
	for _, lines := range w.Lines {
		for level, n := range lines {
			sum[level] += n
		}
	}
	return sum
}

// forget moves the count of a stream to the count for forgotten streams.
func (w *Withheld) forget(stream string) {
	lines := w.Lines[stream]
	delete(w.Lines, stream)
	w.Add(pastStreams, lines)
}

// check returns an error if there are more streams than a checkpoint can have.
func (w *Withheld) check() error {
	if len(w.Lines) > mostFiles+1 {
		return errors.New("too many values")
	}
	return nil
}
