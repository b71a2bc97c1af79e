package pause

import (
	"bytes"
	"time"
)

// jdk8 reads the collector's log of JDK 8 and older (-Xloggc), which is not Unified Logging: one
// record has a pause, its parts in brackets, its sizes and its CPU times, and may have other lines
// in its middle:
//
//	2015-05-26T14:45:37.987-0200: 151.126: [GC (Allocation Failure) 151.126: [ParNew
//	Desired survivor size 35782656 bytes, new threshold 1 (max 6)
//	: 629119K->69888K(629120K), 0.0584157 secs] 1619346K->1273247K(2027264K), 0.0585007 secs] [Times: user=0.06 sys=0.00, real=0.06 secs]
//
// Another thread may write a whole record in the middle of any line. So jdk8 counts the brackets: a pause begins with
// [GC or [Full GC while no bracket is open, and ends with its length and the closing bracket. A pause that does not end
// like this is unread, and none of its numbers is used. The zero value is ready for any line of a stream, the first or
// a later one.
type jdk8 struct {
	active bool // the last record was of JDK 8
	found  []oldEvent
	pause  oldPause // the open pause if depth > 0, otherwise the last pause
	depth  int      // open brackets
	parts  [maxDepth]part
	lines  int    // since the pause began
	unread uint64 // pauses that did not end

	ended bool // the pause has ended, and the next lines may be about it
	timed bool // ... and its CPU times were read
	phase int  // index in found of the concurrent phase whose CPU times come next, or -1
	name  [maxName]byte

	begun     int       // pauses that have begun
	aborted   bool      // the concurrent cycle of G1 was given up
	collector Collector // the last collector that was seen
	version   string    // of the JVM, until it is passed on with the next event; empty: it is unknown or was passed on
}

// oldEvent is an event without a collection number, with the collection that it belongs to.
type oldEvent struct {
	event  Event
	of     whose
	coarse bool // the sizes are rounded too much for differences to be meaningful
}

const (
	maxDepth = 8    // nested brackets; a collection before a remark has four
	maxRest  = 4096 // lines in the middle of a pause; statistics of free lists take a few dozen
	maxFound = 16   // events of one line
)

// read reads a line without its stamps. The events have no collection numbers and are valid until
// the next call.
func (o *jdk8) read(text []byte, stamped bool) []oldEvent {
	o.active, o.found, o.phase = true, o.found[:0], -1
	if rest, ok := cutPrefix(text, stoppedBegin); ok {
		o.abandon()
		o.ended = false
		e := Event{}
		total, alone := bytes.CutSuffix(rest, []byte(" seconds"))
		if at, ok := decimal(total, time.Second); alone && ok { // up to JDK 7
			o.put(&Event{Kind: Safepoint, Duration: at, At: at}, ofNone)
		} else if e.readStopped(rest) {
			o.put(&e, ofNone)
		}
		return o.found
	}
	if o.depth > 0 {
		if o.lines++; o.lines > maxRest || stamped && len(text) > 1 && isOldPause(text[1:]) && !o.pause.occupancy {
			o.abandon()
		}
	}
	if o.depth > 0 && isHistogramRow(text) {
		return o.found
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '[':
			i = o.enter(text, i)
		case o.depth == 0:
			next := bytes.IndexByte(text[i:], '[')
			if next < 0 {
				return o.found
			}
			i += next
		case c == ']':
			o.leave(text[:i], text[i+1:])
			i++
		case c == '(':
			i += o.group(text[i:])
		case c == '-':
			o.pause.failed = o.pause.failed || o.depth == 1 && bytes.HasPrefix(text[i:], []byte("--[PSYoungGen"))
			i++
		case isDigit(c) && (i == 0 || !isWord(text[i-1])):
			i += o.sizes(text[i:])
		default:
			i++
		}
	}
	return o.found
}

// stoppedBegin begins a line that says how long the application was stopped, in JDK 8 to 12.
const stoppedBegin = "Total time for which application threads were stopped: "

func (o *jdk8) put(e *Event, of whose) {
	if len(o.found) < maxFound {
		e.GC = -1
		o.found = append(o.found, oldEvent{event: *e, of: of})
	}
}

// abandon gives up the open pause because its end is lost.
func (o *jdk8) abandon() {
	if o.depth > 0 {
		o.depth = 0
		o.unread++
	}
}

// enter reads the bracket at text[i] and returns the offset to continue at.
func (o *jdk8) enter(text []byte, i int) (next int) {
	rest := text[i+1:]
	if bytes.HasPrefix(rest, []byte("0x")) { // the addresses of a space: no bracket closes them
		return i + 1
	}
	end := bytes.IndexByte(rest, ']')
	inside := rest[:max(end, 0)]
	switch {
	case bytes.HasPrefix(rest, []byte("Times: ")):
		o.times(inside)
	case bytes.HasPrefix(rest, []byte("CMS-concurrent-")), bytes.HasPrefix(rest, []byte("GC concurrent-")):
		o.concurrent(inside)
	case o.depth > 0:
		o.push(rest)
		return i + 1
	case (i == 0 || i > 1 && text[i-1] == ' ' && text[i-2] == ':') && isOldPause(rest):
		o.begin(rest)
		return i + 1
	case i == 0 && bytes.HasPrefix(rest, []byte("Pause ")):
		if !bytes.HasSuffix(inside, []byte(", start")) {
			o.unread++ // of Shenandoah, which some builds of JDK 8 have
		}
	case o.ended && end >= 0:
		o.block(inside, i)
	}
	if end < 0 {
		return len(text)
	}
	return i + 1 + end + 1
}

// begin begins the pause whose opening bracket is before rest.
func (o *jdk8) begin(rest []byte) {
	o.pause, o.depth, o.lines = beginOldPause(rest), 1, 0
	o.begun++
	o.parts[0], o.ended, o.timed = pausePart, false, false
}

// push opens a bracket inside a pause.
func (o *jdk8) push(rest []byte) {
	if o.depth == maxDepth {
		o.abandon()
		return
	}
	kind := other
	if o.depth == 1 {
		kind = o.pause.enter(rest)
	}
	o.parts[o.depth] = kind
	o.depth++
}

// leave reads the closing bracket between text and rest.
func (o *jdk8) leave(text, rest []byte) {
	if o.depth--; o.depth > 0 {
		return
	}
	length, ok := oldLength(text)
	if !ok || !mayFollow(rest) {
		o.unread++
		return
	}
	o.ended = true
	o.report(length)
}

// report reports the pause that has ended and the other events of its collection in the record.
func (o *jdk8) report(length time.Duration) {
	p := &o.pause
	of := p.end()
	if heap, ok := p.tenured(); ok && of == ofPause {
		o.put(&Event{Kind: Space, Name: p.oldName, Heap: heap}, of)
	}
	if p.metaspace.Known {
		o.put(&Event{Kind: Metaspace, Heap: p.metaspace}, of)
	}
	if p.failed {
		o.put(&Event{Kind: Failure, Name: oldFailure}, of)
	}
	if p.collector != "" {
		o.collector = p.collector
	}
	o.put(&Event{Kind: Pause, Name: p.appendName(o.name[:0]), Duration: length, Heap: p.heap}, of)
	o.found[len(o.found)-1].coarse = p.coarse
}

var oldFailure = []byte("Promotion failed")

// group reads the text in parentheses that text begins with. It returns how much was read.
func (o *jdk8) group(text []byte) int {
	content, _ := nextGroup(text[:min(len(text), maxName)])
	if len(content) == 0 {
		return 1
	}
	if o.pause.failure(content); o.depth > 1 {
		return 1
	}
	o.pause.word(content)
	return len("()") + len(content)
}

// sizes reads the sizes that text begins with, if any. It returns how much was read.
func (o *jdk8) sizes(text []byte) int {
	h, coarse, rest, ok := oldSizes(text)
	if ok && o.depth <= 2 {
		o.pause.sizes(o.parts[o.depth-1], h, coarse)
	}
	if ok {
		return len(text) - len(rest)
	}
	n := 1
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return n
}

// isHistogramRow reports whether a line in a pause is a row of a class histogram: "   1:  4000  400000  [C". The
// bracket in [C, the name of an array, is never closed.
func isHistogramRow(text []byte) bool {
	for _, after := range []byte{':', ' ', ' '} {
		text = bytes.TrimLeft(text, " ")
		_, n := digits(text)
		if n == 0 || n == len(text) || text[n] != after {
			return false
		}
		text = text[n+1:]
	}
	return true
}

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '.' || c == ',' || c == '_' }
