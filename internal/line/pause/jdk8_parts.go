package pause

import (
	"bytes"
	"time"
)

// times reads "Times: user=0.06 sys=0.00, real=0.06 secs". Inside a pause, the times belong to a
// phase that another thread logged there, or to a collection before a remark.
func (o *jdk8) times(text []byte) {
	text, _ = cutPrefix(text, "Times: user=")
	user, text, _ := bytes.Cut(text, []byte(" sys="))
	sys, text, _ := bytes.Cut(text, []byte(", real="))
	total, unit := bytes.CutSuffix(text, []byte(" secs"))
	e := Event{Kind: CPU, Timed: true}
	var ok [3]bool
	e.User, ok[0] = decimal(user, time.Second)
	e.Sys, ok[1] = decimal(sys, time.Second)
	e.Real, ok[2] = decimal(total, time.Second)
	e.Duration = e.Real
	switch {
	case !unit || ok != [3]bool{true, true, true} || o.depth > 0:
	case o.phase >= 0:
		of := &o.found[o.phase].event
		of.User, of.Sys, of.Real, of.Timed = e.User, e.Sys, e.Real, true
		o.phase = -1
	case o.ended && !o.timed:
		o.timed = true
		o.put(&e, ofLast)
	}
}

// oldPhases are the concurrent phases, with their names in later releases.
var oldPhases = map[string][]byte{
	"CMS-concurrent-mark": []byte("Mark"), "CMS-concurrent-preclean": []byte("Preclean"), "CMS-concurrent-sweep": []byte("Sweep"),
	"CMS-concurrent-abortable-preclean": []byte("Abortable Preclean"), "CMS-concurrent-reset": []byte("Reset"),
	"GC concurrent-root-region-scan": []byte("Scan Root Regions"), "GC concurrent-mark": []byte("Mark"),
	"GC concurrent-cleanup": []byte("Complete Cleanup"), "GC concurrent-string-deduplication": []byte("String Deduplication"),
}

var markCycle = []byte("Mark Cycle")

// concurrent reads "CMS-concurrent-mark: 0.035/0.036 secs", whose second number is the elapsed
// time. It also reads "GC concurrent-mark-end, 0.0123 secs", and the beginning or abort of a
// phase.
func (o *jdk8) concurrent(text []byte) {
	switch string(text) {
	case "GC concurrent-root-region-scan-start":
		o.collector = G1
		o.put(&Event{Kind: Begin, Name: markCycle}, ofCycle)
		return
	case "GC concurrent-mark-abort":
		o.aborted = true
		return
	}
	i := bytes.IndexAny(text, ":,")
	if i < 0 {
		return
	}
	name := oldPhases[string(bytes.TrimSuffix(text[:i], []byte("-end")))]
	seconds := text[i+1:]
	if slash := bytes.LastIndexByte(seconds, '/'); slash >= 0 && text[i] == ':' {
		seconds = seconds[slash+1:]
	}
	length, ok := oldLength(seconds)
	if name == nil || !ok {
		return
	}
	if o.collector = G1; text[0] == 'C' {
		o.collector = CMS
	}
	of := ofCycle
	if bytes.HasPrefix(name, []byte("String")) {
		of = ofNone
	}
	o.put(&Event{Kind: Concurrent, Name: name, Duration: length}, of)
	if text[0] == 'C' && o.depth == 0 && len(o.found) < maxFound {
		o.phase = len(o.found) - 1
	}
}

// block reads a bracket in the lines after a pause of G1 with -XX:+PrintGCDetails. Outermost
// brackets have an indentation of three spaces:
//
//	[Parallel Time: 9.5 ms, GC Workers: 8]
//	[Eden: 24.0M(24.0M)->0.0B(21.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->3520.4K(256.0M)]
func (o *jdk8) block(text []byte, indent int) {
	if rest, ok := cutPrefix(text, "Metaspace: "); ok {
		if h, _, _, ok := oldSizes(rest); ok && h.Before >= 0 {
			o.put(&Event{Kind: Metaspace, Heap: h}, ofLast)
		}
		return
	}
	if indent != len("   ") || len(text) == 0 {
		return
	}
	_, sizes, ok := bytes.Cut(text, []byte(" Heap: "))
	if !ok || !bytes.HasPrefix(text, []byte("Eden: ")) {
		sizes = bytes.TrimLeft(text, " ") // up to JDK 7
	}
	if h, coarse, rest, ok := oldSizes(sizes); ok && h.Before >= 0 && len(rest) == 0 {
		o.put(&Event{Kind: Space, Name: oldHeap, Heap: h}, ofLast)
		o.found[len(o.found)-1].coarse = coarse
		return
	}
	name, number, ok := bytes.Cut(text, []byte(": "))
	number, workers, _ := bytes.Cut(number, []byte(", GC Workers: "))
	number, unit := bytes.CutSuffix(bytes.TrimLeft(number, " "), []byte(" ms"))
	if count, n := digits(workers); n > 0 && n == len(workers) && count <= 1<<16 {
		o.put(&Event{Kind: Workers, Count: int(count)}, ofLast)
	}
	e := Event{Kind: Phase, Name: name}
	var timed bool
	if e.Duration, timed = decimal(number, time.Millisecond); ok && unit && timed && isPauseName(name) {
		o.put(&e, ofLast)
	}
}

var oldHeap = []byte("Heap")

// oldLength returns the length at the end of text: ", 0.0584157 secs".
func oldLength(text []byte) (time.Duration, bool) {
	rest, ok := bytes.CutSuffix(text, []byte(" secs"))
	if !ok {
		if rest, ok = bytes.CutSuffix(text, []byte(" sec")); !ok {
			return 0, false
		}
	}
	return decimal(rest[bytes.LastIndexByte(rest, ' ')+1:], time.Second)
}

// oldSizes reads the sizes that text begins with and returns the rest of text. The sizes are
// "629119K->69888K(629120K)", "24.0M(256.0M)->3520.4K(256.0M)", or the use at one time,
// "10812086K(11901376K)", for which Before is -1. Coarse sizes are rounded to a tenth of a GiB.
func oldSizes(text []byte) (h Heap, coarse bool, rest []byte, ok bool) {
	var c [3]bool
	if h.Before, c[0], text, ok = oldSize(text); !ok {
		return Heap{}, false, nil, false
	}
	bracket := func(text []byte) []byte {
		size, g, after, ok := oldSize(bytes.TrimPrefix(text, []byte{'('}))
		if end, closed := cutPrefix(after, ")"); ok && closed && text[0] == '(' {
			h.Capacity, c[2] = size, c[2] || g
			return end
		}
		return text
	}
	text = bracket(text)
	after, ok := cutPrefix(text, "->")
	if !ok {
		h.Before, h.After, h.Known = -1, h.Before, true
		return h, c[0] || c[2], text, h.Capacity > 0
	}
	if h.After, c[1], text, ok = oldSize(after); !ok {
		return Heap{}, false, nil, false
	}
	h.Known = true
	text = bracket(text)
	return h, c[0] || c[1], text, true
}

// oldSize reads "629119K", "3520.4K", "0.0B" or "29.9G".
func oldSize(text []byte) (bytes int64, coarse bool, rest []byte, ok bool) {
	whole, n := digits(text)
	if n == 0 {
		return 0, false, nil, false
	}
	text = text[n:]
	tenths := int64(0)
	if len(text) > 2 && (text[0] == '.' || text[0] == ',') && isDigit(text[1]) {
		tenths, text = int64(text[1]-'0'), text[2:]
	}
	if len(text) == 0 {
		return 0, false, nil, false
	}
	shift := 0
	switch text[0] {
	case 'B':
	case 'K':
		shift = 10
	case 'M':
		shift = 20
	case 'G':
		shift = 30
	case 'T':
		shift = 40
	default:
		return 0, false, nil, false
	}
	if whole > maxBytes>>shift-1 {
		return 0, false, nil, false
	}
	return whole<<shift + tenths<<shift/10, shift >= 30, text[1:], true
}

// choose sets e to the most important event of a line, with its CPU times. If the line has no
// event, choose returns false and leaves e as it is.
func (e *Event) choose(all []oldEvent) bool {
	var best *Event
	for i := range all {
		next := &all[i].event
		switch {
		case best == nil || rank(next.Kind) > rank(best.Kind):
			best = next
		case next.Kind == CPU && best.Kind == Pause && !best.Timed:
			best.User, best.Sys, best.Real, best.Timed = next.User, next.Sys, next.Real, true
		}
	}
	if best != nil {
		*e = *best
	}
	return best != nil
}

// rank returns the importance of a kind of event.
func rank(k Kind) int {
	switch k {
	case Pause:
		return 4
	case Safepoint:
		return 3
	case Concurrent:
		return 2
	case CPU, Phase:
		return 1
	}
	return 0
}
