// Package untrusted reads data from other parties. It bounds the memory for JSON before it
// decodes anything, and opens files that others can replace with anything.
//
// For JSON, a bound on the bytes alone is not enough: an element of a list can take two
// bytes in the text, "0,", and a kilobyte in memory, the size of the type into which it
// is decoded.
package untrusted

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrElements is what [Decode] returns for a text with too many elements.
var ErrElements = errors.New("too many elements")

// Elements returns the number of commas outside of strings. Every element of a
// list or of an object except the first follows a comma. Without commas, values can
// only be nested, and encoding/json stops at 10,000 levels. The text need not be
// valid JSON.
func Elements(text []byte) int {
	commas, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '\\' && quoted:
			i++
		case text[i] == ',' && !quoted:
			commas++
		}
	}
	return commas
}

// Decode is [json.Unmarshal] for a text with at most the given number of
// [Elements]. For any other text it returns an [ErrElements] and does not change v.
func Decode(text []byte, most int, v any) error {
	if n := Elements(text); n > most {
		return fmt.Errorf("%w: it has %d, at most %d are accepted", ErrElements, n, most)
	}
	return json.Unmarshal(text, v)
}
