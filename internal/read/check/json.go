package check

import (
	"encoding/json"

	"github.com/ullage/ullage/internal/line/ul"
)

// MarshalJSON writes an object with an entry for each level that has lines: {"info":12}.
func (l Levels) MarshalJSON() ([]byte, error) {
	of := map[string]uint64{}
	for level, n := range l {
		if n > 0 {
			of[ul.Level(level).String()] = n
		}
	}
	return json.Marshal(of)
}

// MarshalJSON writes an object with an entry for each reason that has lines:
// {"drop":{"info":12}}.
func (r Reason) MarshalJSON() ([]byte, error) {
	of := map[string]Levels{}
	for reason, levels := range r {
		if levels != (Levels{}) {
			of[ul.Reason(reason).String()] = levels
		}
	}
	return json.Marshal(of)
}
