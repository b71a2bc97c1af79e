package main

import (
	"fmt"
	"math"
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
	r.writeGoals(&s)
	for _, e := range r.Experiments {
		fmt.Fprintf(&s, "\n## %s\n\n**Question.** %s\n\n**Method.** %s %s\n\n**Result.** %s\n\n", e.Title, e.Question, e.Method, e.rounds(), e.result())
		e.table(&s)
		if e.Plot != "" {
			name := "benchmarks-" + e.Name + ".svg"
			if err := e.draw(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("draw %s: %w", e.Name, err)
			}
			fmt.Fprintf(&s, "\n![%s: %s](%s)\n", e.Title, e.title(e.Plot), name)
		}
		if err := e.drawHiccups(&s, dir); err != nil {
			return fmt.Errorf("draw %s: %w", e.Name, err)
		}
		fmt.Fprintf(&s, "\n**Threat to validity.** %s\n", e.Threat)
	}
	if f, ok := r.fleet(); ok {
		f.write(&s)
	}
	r.appendix(&s)
	return os.WriteFile(page, []byte(s.String()), 0o644)
}

func (r *record) head(s *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(s, "# Benchmarks\n\n`%s` wrote this page and its plots from one recorded run. Do not edit it.\n\n", r.Command)
	s.WriteString("Each figure is the median of the rounds, with the least and the largest value in parentheses. In each round, every contestant runs once, ")
	s.WriteString("so that a machine that slows down slows all of them.\nCPU is user and system time.\n\n| | |\n|---|---|\n")
	fmt.Fprintf(s, "| date | %s |\n", r.Date)
	fmt.Fprintf(s, "| machine | %s, %d cores, %d MiB, Linux %s, %s |\n", m.CPU, m.Cores, m.MemoryMiB, m.Kernel, m.Disk)
	versions := m.Versions
	for _, c := range r.Contestants {
		if c.Version != "" {
			versions = append(versions, c.Name+" "+c.Version)
		}
	}
	fmt.Fprintf(s, "| versions | %s |\n| noise | %s |\n", strings.Join(versions, "; "), r.Noise)
}

// rounds says how often every contestant ran.
func (e *experiment) rounds() string {
	least := 0
	for _, r := range e.Rows {
		if least == 0 || len(r.Runs) < least {
			least = len(r.Runs)
		}
	}
	if least == 1 {
		return "One round."
	}
	return fmt.Sprintf("%d rounds.", least)
}

// result says in words what the table and the plot show.
func (e *experiment) result() string {
	var parts []string
	if e.Result != "" {
		parts = append(parts, e.Result)
	}
	if text := e.spread(); text != "" {
		parts = append(parts, text)
	}
	if text := e.exactness(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// spread names the ends of the plotted column.
func (e *experiment) spread() string {
	var least, most *row
	var low, high float64
	for _, r := range e.Rows {
		v, _, _, ok := r.of(e.Plot)
		if ok && (least == nil || v < low) {
			least, low = r, v
		}
		if ok && (most == nil || v > high) {
			most, high = r, v
		}
	}
	if least == nil || low == high {
		return ""
	}
	title := e.title(e.Plot)
	text := strings.ToUpper(title[:1]) + title[1:] + fmt.Sprintf(": from %s (%s) to %s (%s)", figure(low), least.Contestant, figure(high), most.Contestant)
	if low > 0 {
		text += fmt.Sprintf(", %s times as much", figure(high/low))
	}
	return text + "."
}

// exactness names who neither lost nor repeated a line in any round.
func (e *experiment) exactness() string {
	var exact []string
	counted := 0
	for _, r := range e.Rows {
		_, _, lost, ok := r.of("lost")
		_, _, twice, _ := r.of("twice")
		if ok {
			counted++
		}
		if ok && lost+twice == 0 {
			exact = append(exact, r.Contestant)
		}
	}
	switch {
	case counted == 0:
		return ""
	case exact == nil:
		return "Every contestant lost or repeated lines."
	case len(exact) == counted:
		return "No contestant lost or repeated a line."
	}
	return "These lost and repeated no line in any round: " + strings.Join(exact, "; ") + ". All others did."
}

// appendix has the configurations.
func (r *record) appendix(s *strings.Builder) {
	if len(r.Contestants) == 0 {
		return
	}
	s.WriteString("\n## Configurations\n\nEach contestant runs as its documentation recommends for files that rotate and for a restart, and writes the lines as they are.\n")
	for _, c := range r.Contestants {
		fmt.Fprintf(s, "\n%s:\n\n```\n%s\n```\n", strings.TrimSpace(c.Name+" "+c.Version), strings.TrimSpace(c.Config))
	}
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

// figure renders a value with three digits, and whole with commas when it is large.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return grouped(int(math.Round(v)))
	case v >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
