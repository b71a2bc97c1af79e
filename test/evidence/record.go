package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// record has the results of the last run, and those of earlier runs that the last run did not replace. The page and
// the plots are made only from a record.
type record struct {
	sitting
	Contestants []configured
	Absent      []string `json:",omitempty"` // the missing peers, with the reason
	Experiments []*experiment
}

// sitting describes when and where experiments ran.
type sitting struct {
	Date    string // RFC 3339, UTC
	Command string
	Machine machine
	Noise   string  // the load before the run, and the CPU time that other machines took during it
	Load    float64 `json:",omitzero"` // the load average of the last minute before the run
	Calm    *calm   `json:",omitempty"`
	Seconds float64 `json:",omitzero"` // duration of the whole run
}

// configured describes a contestant as it was run.
type configured struct{ Name, Version, Config string }

// experiment is one question, with the figures of each contestant.
type experiment struct {
	Name     string
	Title    string
	Question string
	Method   string
	Threat   string
	Columns  []column
	Plot     string     // the key of the column that is drawn; empty: none
	Shade    [2]float64 `json:",omitzero"` // the time during which the disk had a fault, from and to, in seconds
	Rows     []*row
	NotRun   string   `json:",omitempty"` // why this machine cannot run the experiment; empty: it ran
	Seconds  float64  `json:",omitzero"`  // its duration
	Earlier  *sitting `json:",omitempty"` // the earlier run that the experiment is from; nil: the last run
	repeat
}

// calm describes the waits for a quiet machine.
type calm struct {
	Waited float64 // seconds
	GaveUp bool    // the patience was used up before the machine was quiet
}

// A repeat counts the measurements of an experiment that were disturbed.
type repeat struct {
	Repeated int `json:",omitzero"` // measured again
	Kept     int `json:",omitzero"` // disturbed but in the tables, since no repeat or no patience was left
}

// String describes how many measurements of an experiment were disturbed. It is empty if none were.
func (r repeat) String() string {
	var parts []string
	if r.Repeated > 0 {
		parts = append(parts, fmt.Sprintf("%d measurements repeated", r.Repeated))
	}
	if r.Kept > 0 {
		parts = append(parts, fmt.Sprintf("%d disturbed ones kept", r.Kept))
	}
	return strings.Join(parts, ", ")
}

// column is a column of the table: one figure of each run.
type column struct {
	Key   string
	Title string // with its unit
}

// row has the runs of one contestant, one for each round.
type row struct {
	Contestant string
	Runs       []figures

	// Tenths has the longest hiccup in each tenth of a second of the first run, in milliseconds.
	Tenths []float64 `json:",omitempty"`

	// Listing is text about the first run. The page shows it below the table.
	Listing []string `json:",omitempty"`
}

// figures are the values of one run, by the key of their column.
type figures map[string]float64

// row returns the row of a contestant. The first call for a contestant adds it.
func (e *experiment) row(contestant string) *row {
	for _, r := range e.Rows {
		if r.Contestant == contestant {
			return r
		}
	}
	r := &row{Contestant: contestant}
	e.Rows = append(e.Rows, r)
	return r
}

// add appends a run of a contestant.
func (e *experiment) add(contestant string, f figures) {
	r := e.row(contestant)
	r.Runs = append(r.Runs, f)
}

// values returns the values of a column in the runs that have it.
func (r *row) values(key string) (all []float64) {
	for _, f := range r.Runs {
		if v, has := f[key]; has {
			all = append(all, v)
		}
	}
	return all
}

// of returns the median, the least and the largest value of a column. ok is false if no run has the column.
func (r *row) of(key string) (median, least, largest float64, ok bool) {
	values := r.values(key)
	if len(values) == 0 {
		return 0, 0, 0, false
	}
	return medianOf(values, sequence(len(values))), slices.Min(values), slices.Max(values), true
}

func (r *record) save(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func load(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return &r, nil
}

// figure renders a value with three digits. A large value is rendered in full, with commas.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return grouped(int(math.Round(v)))
	case v >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped renders a number with commas between groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// print prints the tables.
func (r *record) print() {
	var tables strings.Builder
	for _, x := range r.Experiments {
		if x.NotRun == "" {
			fmt.Fprintf(&tables, "\n%s\n\n", x.Title)
			x.table(&tables)
			x.listings(&tables)
		}
	}
	fmt.Print(tables.String())
}

// printGoals prints the measured figures with their goals.
func (r *record) printGoals() {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tLIMIT\t")
	for _, g := range r.goals() {
		verdict := g.verdict()
		if verdict == missed {
			verdict = strings.ToUpper(missed)
		}
		fmt.Fprintln(w, strings.Join([]string{g.what, g.measured.String(), g.bound(), verdict}, "\t"))
	}
	w.Flush()
}
