package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Table presents the measurements of tests. Create it with [NewTable].
type Table struct {
	title string
	rows  [][]string
}

// NewTable returns a table with no rows.
func NewTable(title string, columns ...string) *Table {
	return &Table{title: title, rows: [][]string{columns}}
}

// Add adds a row of as many cells as there are columns.
func (t *Table) Add(cells ...any) {
	var row []string
	for _, c := range cells {
		row = append(row, cell(c))
	}
	t.rows = append(t.rows, row)
}

// cell renders a value for a table. A duration is rounded.
func cell(v any) string {
	d, ok := v.(time.Duration)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case d < time.Millisecond:
		return strings.ReplaceAll(d.Round(time.Microsecond).String(), "µ", "u")
	case d < 100*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// String renders the table in Markdown, aligned for reading as plain text.
func (t *Table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)), 3)
		}
	}
	var b strings.Builder
	line := func(cells []string, pad string) {
		for i, cell := range cells {
			b.WriteString("| " + cell + strings.Repeat(pad, widths[i]-len([]rune(cell))) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.rows[0], " ")
	line(make([]string, len(widths)), "-")
	for _, row := range t.rows[1:] {
		line(row, " ")
	}
	return b.String()
}

// Print logs the table. It also appends the table to the file that ULLAGE_FAULT_TABLES names, if any.
func (t *Table) Print(tb testing.TB) {
	tb.Helper()
	text := fmt.Sprintf("\n%s:\n\n%s", t.title, t)
	tb.Log(text)
	path := os.Getenv("ULLAGE_FAULT_TABLES")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		tb.Errorf("cannot append the table to its file: %v", err)
	}
}
