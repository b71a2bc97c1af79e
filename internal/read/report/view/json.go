package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/untrusted"
)

// JSON writes a report as one object, indented.
func JSON(w io.Writer, r *Report) error { return writeJSON(w, r, "report") }

func writeJSON(w io.Writer, object any, what string) error {
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the %s: %w", what, err)
	}
	if _, err := io.WriteString(w, printable.JSON(string(text))+"\n"); err != nil {
		return fmt.Errorf("write the %s: %w", what, err)
	}
	return nil
}

// maxElements bounds the memory of a decoded report; package untrusted defines how elements
// are counted. A report of [MaxRuns] runs with all kinds of stops has less than a quarter
// of this number.
const maxElements = 1 << 18

// Decode reads one report in the form that [JSON] writes. The text is untrusted: it may be
// longer than any output of [JSON], and may have values that no log could lead to.
func Decode(text []byte) (*Report, error) {
	var r *Report
	if err := untrusted.Decode(text, maxElements, &r); err != nil {
		return nil, fmt.Errorf("decode the report: %w", err)
	}
	if r == nil || r.Inputs == nil {
		return nil, errors.New("decode the report: it has no inputs")
	}
	r.Suspected = slices.DeleteFunc(r.Suspected, func(s *Stop) bool { return s == nil })
	return r, nil
}
