package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/ullage/ullage/internal/base/printable"
)

// slice is an event of a trace in the JSON format that ui.perfetto.dev opens. Times are in
// microseconds.
type slice struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // X: a slice, C: a counter, M: the name of a track
	Begin int64          `json:"ts"`
	Long  int64          `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	Track int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// trace gathers the events of a report. Events of one track must not overlap: if they do, a further track is added.
type trace struct {
	events []slice
	tracks int
}

// Perfetto writes the stops, the bands and the heap as a trace. In a long log, as on the page, one
// stop represents the shorter stops around it.
func Perfetto(w io.Writer, r *Report) error {
	t := &trace{events: []slice{{Name: "process_name", Phase: "M", PID: 1, Args: map[string]any{"name": printable.Text(r.Name, 200)}}}}
	for _, s := range r.Series {
		var all []slice
		for _, p := range s.Points {
			all = append(all, slice{Name: s.Kind, Begin: micro(p.At), Long: micro(p.Value), Args: map[string]any{"longest_of": p.N}})
		}
		t.add("stops: "+s.Kind, all)
	}
	var longest []slice
	for _, s := range r.Longest {
		if s.At != nil {
			longest = append(longest, slice{Name: s.Cause, Begin: micro(*s.At), Long: micro(s.Duration), Args: map[string]any{"lines": s.Lines, "suspicion": s.Suspicion}})
		}
	}
	t.add("the longest stops", longest)
	bands := map[string][]slice{}
	var kinds []string
	for _, b := range r.Bands {
		if len(bands[b.Kind]) == 0 {
			kinds = append(kinds, b.Kind)
		}
		bands[b.Kind] = append(bands[b.Kind], slice{Name: b.Kind, Begin: micro(b.Begin), Long: micro(b.End - b.Begin), Args: map[string]any{"text": b.Text}})
	}
	for _, kind := range kinds {
		t.add(kind, bands[kind])
	}
	t.count("heap before collections", r.Heap.Before)
	t.count("heap after collections", r.Heap.After)
	t.count("capacity of the heap", r.Heap.Capacity)
	text, err := json.Marshal(map[string]any{"displayTimeUnit": "ms", "traceEvents": t.events})
	if err != nil {
		return fmt.Errorf("encode the trace: %w", err)
	}
	if _, err := io.WriteString(w, printable.JSON(string(text))+"\n"); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

func micro(seconds float64) int64 { return int64(seconds * 1e6) }

// add adds slices to the track with the given name, and overlapping ones to further tracks of
// that name.
func (t *trace) add(name string, all []slice) {
	slices.SortStableFunc(all, func(a, b slice) int { return cmp.Compare(a.Begin, b.Begin) })
	first, ends := t.tracks+1, []int64{}
	for _, s := range all {
		lane := slices.IndexFunc(ends, func(end int64) bool { return end <= s.Begin })
		if lane < 0 {
			lane = len(ends)
			ends = append(ends, 0)
			t.events = append(t.events, slice{Name: "thread_name", Phase: "M", PID: 1, Track: first + lane, Args: map[string]any{"name": name}})
		}
		s.Phase, s.PID, s.Track, s.Long = "X", 1, first+lane, max(1, s.Long)
		ends[lane] = s.Begin + s.Long
		t.events = append(t.events, s)
	}
	t.tracks += len(ends)
}

// count adds a counter, in bytes.
func (t *trace) count(name string, all []Point) {
	for _, p := range all {
		t.events = append(t.events, slice{Name: name, Phase: "C", Begin: micro(p.At), PID: 1, Args: map[string]any{"bytes": p.Value}})
	}
}
