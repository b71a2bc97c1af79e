package report

import (
	"slices"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	keptEvents  = 64  // number of lines with events that are kept for the longest stops; see [view.KeptBytes]
	recentLines = 512 // number of last lines that are kept: a stop may be reported long after its lines
	around      = 2   // number of lines to keep before a stop's own lines, and as many after them
)

// kept holds the lines of a stream that may be listed with a stop: the lines with events, and
// the last lines. The zero value has none.
type kept struct {
	events [keptEvents]keptLine
	n      int                   // number of lines with events so far
	recent [recentLines]keptLine // the last lines, by their number modulo recentLines
	last   uint64                // the number of the current line
	open   []following
}

// keptLine is the beginning of a line.
type keptLine struct {
	number uint64
	text   []byte
}

func (k *keptLine) set(number uint64, line []byte) {
	k.number = number
	k.text = append(k.text[:0], line[:min(len(line), view.KeptBytes)]...)
}

// following is a stop that still lacks lines in After. The missing lines have numbers above last.
type following struct {
	to   *view.Stop
	last uint64
}

// add takes the next line.
func (k *kept) add(number uint64, line []byte) {
	present := &k.recent[number%recentLines]
	present.set(number, line)
	k.last = number
	if len(k.open) > 0 {
		k.open = slices.DeleteFunc(k.open, func(f following) bool {
			if number > f.last {
				f.to.After = append(f.to.After, string(present.text))
			}
			return len(f.to.After) >= around
		})
	}
}

// event records that the current line has an event.
func (k *kept) event() {
	k.events[k.n%keptEvents].set(k.last, k.recent[k.last%recentLines].text)
	k.n++
}

// describe adds the lines of a listed stop and returns the number of the last one.
func (k *kept) describe(to *view.Stop, s *pause.Stop) (last uint64) {
	from, end := s.Lines[0], s.Lines[1]
	last = end
	var texts []string
	for i := range keptEvents {
		one := &k.events[(k.n+i)%keptEvents]
		if one.number < from || one.number == 0 {
			continue
		}
		e, _ := pause.Parse(one.text)
		switch {
		case one.number > end && (s.Safepoint || e.Kind != pause.CPU || len(s.Pauses) == 0 || e.GC != s.Pauses[0].GC && e.GC >= 0):
		case e.Kind == pause.Pause, e.Kind == pause.CPU, e.Kind == pause.Safepoint:
			texts, last = append(texts, string(one.text)), max(last, one.number)
		}
	}
	if newest := &k.events[(k.n+keptEvents-1)%keptEvents]; end == k.last && newest.number != end {
		// The joiner is still processing the last line of the stop, which is added to the events afterwards.
		texts = append(texts, string(k.recent[k.last%recentLines].text))
	}
	to.Lines = texts[max(0, len(texts)-8):]
	return last
}

// surround adds to a suspected stop its own lines and the lines around them, including later
// ones.
func (k *kept) surround(to *view.Stop, s *pause.Stop) {
	last, first := k.describe(to, s), s.Lines[0]
	to.Before = k.between(first-min(first, around), first-1)
	to.After = k.between(last+1, min(last+around, k.last))
	if len(to.After) < around {
		k.open = append(k.open, following{to, max(last, k.last)})
	}
}

// between returns the lines from one number to another, both included, if they are still
// kept.
func (k *kept) between(from, to uint64) (texts []string) {
	for n := max(from, 1); n <= to; n++ {
		if one := &k.recent[n%recentLines]; one.number == n {
			texts = append(texts, string(one.text))
		}
	}
	return texts
}
