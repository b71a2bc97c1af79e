package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// slot has those fields of a checkpoint slot that describe lines that are not persisted.
type slot struct {
	Seq      uint64
	Withheld struct {
		Held  struct{ Until int64 }
		Lines map[string]Counts
	}
}

// newestSlot returns the newer of the two slots of a source. A slot that is being written is ignored.
func newestSlot(source string) (newest slot, err error) {
	for i := range 2 {
		text, err := os.ReadFile(filepath.Join(source, ".ullage", fmt.Sprintf("checkpoint-%d", i)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return newest, fmt.Errorf("read a checkpoint: %w", err)
		}
		var s slot
		_, body, _ := bytes.Cut(text, []byte("\n"))
		if json.NewDecoder(bytes.NewReader(body)).Decode(&s) == nil && s.Seq > newest.Seq {
			newest = s
		}
	}
	if newest.Seq == 0 {
		return newest, errors.New("read a checkpoint: there is none")
	}
	return newest, nil
}

// Withheld returns the number of withheld lines of a stream, by level, according to the checkpoint of
// a source.
func Withheld(source, stream string) (Counts, error) {
	s, err := newestSlot(source)
	return s.Withheld.Lines[stream], err
}

// SavesUntil returns the time until which withheld lines are saved, according to the checkpoint of a source, as
// Unix time in ns. It returns 0 if no lines are saved or there is no checkpoint.
func SavesUntil(source string) int64 {
	s, _ := newestSlot(source)
	return s.Withheld.Held.Until
}

// Line is a line in a [Flood]'s file, as a reader of the file sees it.
type Line struct {
	Text   []byte // with its newline, valid until the next line
	Number int64  // the number of the line that ends here
	Level  Level  // the level of that line
	Loose  bool   // glued to a cut line, or a later line of such a record: a reader may see another level
}

// LinesOf returns the complete lines in the file of a flood, in order.
func LinesOf(r FloodReport) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for t := newTruth(r); ; {
			line, more := t.read()
			if !more || !yield(Line{line.text, int64(line.number), line.level, line.loose}) {
				return
			}
		}
	}
}

// Unended returns the last line in the file of a flood if a full tmpfs has cut it, so that it has no newline. It
// returns nil if the last line is complete. A sidecar that drains adds a newline to such a line.
func Unended(r FloodReport) []byte {
	t := newTruth(r)
	for more := true; more; {
		_, more = t.read()
	}
	return t.held
}
