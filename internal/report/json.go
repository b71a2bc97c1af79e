package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ullage/ullage/internal/printable"
)

// JSON writes the reports as one object each, indented.
func JSON(w io.Writer, reports ...*Report) error {
	for _, r := range reports {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the report: %w", err)
		}
		if _, err := io.WriteString(w, printable.JSON(string(text))+"\n"); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}
