package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
)

// Duration formats seconds with three digits: "12.3 ms".
func Duration(s float64) string {
	switch {
	case s >= 86400:
		return fmt.Sprintf("%.1f d", s/86400)
	case s >= 7200:
		return fmt.Sprintf("%.1f h", s/3600)
	case s >= 120:
		return fmt.Sprintf("%.1f min", s/60)
	case s >= 0.99995:
		return digits(s) + " s"
	case s >= 0.00099995:
		return digits(s*1e3) + " ms"
	case s == 0:
		return "0 s"
	}
	return digits(s*1e6) + " µs"
}

// digits formats a number from 1 to 1000 with three digits.
func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Size formats bytes, which may be negative.
func Size(bytes float64) string {
	if math.Abs(bytes) > math.MaxInt64/2 {
		return "–"
	}
	if bytes < 0 {
		return "−" + printable.Bytes(int64(-bytes))
	}
	return printable.Bytes(int64(bytes))
}

// Grouped formats a number with commas between groups of three digits: "20,000".
func Grouped(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// none is shown for an unknown figure.
const none = "–"

func optional(v *float64, format func(float64) string) string {
	if v == nil {
		return none
	}
	return format(*v)
}

func percent(v float64) string {
	if v < 1 && v > 0.9999 {
		return fmt.Sprintf("%.4f %%", 100*v)
	}
	return fmt.Sprintf("%.2f %%", 100*v)
}

func perSecond(v float64) string { return Size(v) + "/s" }

func perHour(v float64) string { return Size(v) + "/h" }

// When formats a time of the report's axis.
func (r *Report) When(at float64) string {
	if !r.Dated {
		return fmt.Sprintf("+%.3f s", at)
	}
	return time.UnixMilli(int64(math.Round(at * 1e3))).UTC().Format("2006-01-02 15:04:05.000Z")
}

// Window formats the time from the first line to the last.
func (r *Report) Window() string {
	switch {
	case !r.Timed:
		return "the lines have no times"
	case !r.Dated:
		return r.When(r.Begin) + " to " + r.When(r.End) + " of uptime: the lines have no dates"
	}
	window := r.When(r.Begin) + " to " + r.When(r.End)
	if r.Estimated {
		window += ", estimated where lines have no dates"
	}
	return window
}

// At formats the time when a stop began.
func (r *Report) At(s Stop) string { return r.When(*s.At) }

// lasting formats the time of a band.
func (r *Report) lasting(b Band) string {
	if b.End-b.Begin < 0.001 {
		return r.When(b.Begin)
	}
	return r.When(b.Begin) + " to " + r.When(b.End)
}

// Clock formats a time of the report's axis to the second.
func (r *Report) Clock(at float64) string {
	if !r.Dated {
		return fmt.Sprintf("+%.0f s", at)
	}
	return time.Unix(int64(at), 0).UTC().Format("15:04:05Z")
}

// Size is the share's bytes, for the page.
func (s Share) Size() float64 { return float64(s.Bytes) }

// Size is the input's bytes, for the page.
func (i Input) Size() float64 { return float64(i.Bytes) }

// Worst returns the worst minute of all runs, or nil if no run has one or a run is mixed.
func (r *Report) Worst() (worst *Minute) {
	if r.Totals.Mixed {
		return nil
	}
	for i := range r.Runs {
		if m := r.Runs[i].Worst; m != nil && (worst == nil || m.Paused > worst.Paused) {
			worst = m
		}
	}
	return worst
}

// Rate formats the allocation or promotion rate of all runs together, or a dash if no run shows it.
func (r *Report) Rate(of string) string { return optional(r.rate(of), perSecond) }

// rate returns the allocation or promotion rate of all runs together, weighted by their
// time. It is nil if no run shows a rate or a run is mixed.
func (r *Report) rate(of string) *float64 {
	bytes, time := 0.0, 0.0
	for i := range r.Runs {
		run := &r.Runs[i]
		v := run.Allocated
		if of == "promoted" {
			v = run.Promoted
		}
		if v != nil && run.Span > 0 {
			bytes, time = bytes+*v*run.Span, time+run.Span
		}
	}
	if time == 0 || r.Totals.Mixed {
		return nil
	}
	rate := bytes / time
	return &rate
}

// HeapAfter formats the heap in use after the last collection, and its trend if the log
// shows one. It is a dash if the runs belong to several streams.
func (r *Report) HeapAfter() string {
	var last *Run
	for i := range r.Runs {
		run := &r.Runs[i]
		if last != nil && run.Stream != last.Stream {
			return none
		}
		if run.HeapAfter != nil {
			last = run
		}
	}
	switch {
	case last == nil, r.Runs[len(r.Runs)-1].HeapAfter == nil, r.Totals.Mixed, len(r.Runs) >= MaxRuns:
		return none
	case last.Trend == nil:
		return Size(*last.HeapAfter)
	case *last.Trend > 0:
		return Size(*last.HeapAfter) + ", +" + perHour(*last.Trend)
	}
	return Size(*last.HeapAfter) + ", " + perHour(*last.Trend)
}

// Collectors names the collectors of all runs, with the version of the JVM.
func (r *Report) Collectors() string {
	var all []string
	for i := range r.Runs {
		run := &r.Runs[i]
		if name := strings.TrimSpace(run.Collector + " " + run.Version); name != "" && !slices.Contains(all, name) && len(all) < 4 {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// Plural formats a number with its noun.
func Plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", Grouped(n), what)
}
