package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// write makes the page, and its plots beside it.
func (r *record) write(page string) error {
	dir := filepath.Dir(page)
	var s strings.Builder
	r.head(&s)
	for _, e := range r.Experiments {
		fmt.Fprintf(&s, "\n## %s\n\n**Question.** %s\n\n**Method.** %s\n\n", e.Title, e.Question, e.Method)
		e.table(&s)
		if e.Plot != "" {
			name := "benchmarks-" + e.Name + ".svg"
			if err := e.draw(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("draw %s: %w", e.Name, err)
			}
			fmt.Fprintf(&s, "\n![%s: %s](%s)\n", e.Title, e.title(e.Plot), name)
		}
		fmt.Fprintf(&s, "\n**Threat to validity.** %s\n", e.Threat)
	}
	return os.WriteFile(page, []byte(s.String()), 0o644)
}

func (r *record) head(s *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(s, "# Benchmarks\n\n`%s` wrote this page and its plots from one recorded run. Do not edit it.\n\n", r.Command)
	fmt.Fprintf(s, "Each figure is the median of %d rounds, with the least and the largest value in parentheses. In each round, every contestant runs once.\n", r.Rounds)
	fmt.Fprintf(s, "CPU is user and system time.\n\n| | |\n|---|---|\n| date | %s |\n", r.Date)
	fmt.Fprintf(s, "| machine | %s, %d cores, %d MiB, Linux %s, %s |\n", m.CPU, m.Cores, m.MemoryMiB, m.Kernel, m.Disk)
	fmt.Fprintf(s, "| versions | %s |\n| noise | %s |\n", strings.Join(m.Versions, "; "), r.Noise)
}

// table writes the rows in the order in which they ran.
func (e *experiment) table(s *strings.Builder) {
	s.WriteString("|")
	for _, c := range e.Columns {
		s.WriteString(" | " + c.Title)
	}
	s.WriteString(" |\n|---" + strings.Repeat("|---", len(e.Columns)) + "|\n")
	for _, r := range e.Rows {
		s.WriteString("| " + r.Contestant)
		for _, c := range e.Columns {
			s.WriteString(" | " + r.cell(c.Key))
		}
		s.WriteString(" |\n")
	}
}

func (r *row) cell(key string) string {
	median, low, high, ok := r.of(key)
	switch {
	case !ok:
		return "–"
	case low == high:
		return figure(median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(median), figure(low), figure(high))
}

// figure renders a value with three digits, and whole when it is large.
func figure(v float64) string {
	if v >= 100 || v == float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
