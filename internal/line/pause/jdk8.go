package pause

import (
	"bytes"
	"time"
)

// jdk8 reads the collector's log of JDK 8 and older (-Xloggc), which is no Unified Logging: one
// record has a pause, its parts in brackets, its sizes and its CPU times, and may have further
// lines in its middle:
//
//	2015-05-26T14:45:37.987-0200: 151.126: [GC (Allocation Failure) 151.126: [ParNew
//	Desired survivor size 35782656 bytes, new threshold 1 (max 6)
//	: 629119K->69888K(629120K), 0.0584157 secs] 1619346K->1273247K(2027264K), 0.0585007 secs] [Times: user=0.06 sys=0.00, real=0.06 secs]
//
// Another thread may write a whole record of its own in the middle of any line. So the brackets
// are counted: a pause begins with [GC or [Full GC where none is open, and ends with the bracket
// that closes it, before which is its length. A pause that does not end in this way is unread,
// and none of its numbers is used. The zero value is ready for the first line of a stream, or one
// in its middle.
type jdk8 struct {
	active bool // the last record of a JVM was of JDK 8
	found  []oldEvent
	pause  oldPause // that is open, if depth > 0, or the last one
	depth  int      // brackets that are open
	parts  [maxDepth]part
	lines  int    // since the pause began
	unread uint64 // pauses that did not end

	ended bool // the pause has ended, and further lines may be about it
	timed bool // ... and its CPU times were read
	phase int  // index in found of the concurrent phase whose CPU times come next, or -1
	name  [maxName]byte

	begun     int       // pauses that have begun
	aborted   bool      // the concurrent cycle of G1 was given up
	collector Collector // that was seen last
	version   string    // of the JVM that the next events belong to; empty: none was seen
}

// oldEvent is an event without a collection number, and the collection that it belongs to.
type oldEvent struct {
	event  Event
	of     whose
	coarse bool // the sizes are rounded to so much that their differences say nothing
}

type whose uint8

const (
	ofNone  whose = iota
	ofPause       // of the pause that ends here
	ofCycle       // of the current concurrent cycle
	ofLast        // of the pause that ended last
)

const (
	maxDepth = 8    // brackets in each other; a collection before a remark has four
	maxRest  = 4096 // lines in the middle of a pause; statistics of free lists are some dozens
	maxFound = 16   // events of one line
)

// part is what an open bracket contains.
type part uint8

const (
	other part = iota
	pausePart
	youngPart
	oldPart
	metaspacePart
)

// oldPause is what was read of a pause.
type oldPause struct {
	full, g1, mixed, starts, initialMark, remark, cleanup, failed bool

	occupancy bool // it is a remark of CMS, which may collect the young generation first
	coarse    bool // the heap's sizes are
	used      bool // the line shows how much is in use, and not what it was before
	cause     string
	collector Collector
	heap      Heap
	young     Heap
	old       Heap
	metaspace Heap
	oldName   []byte
}

// claims reports whether a line is to be read as one of JDK 8: it begins like a record of it, or
// the last record of the stream was one and the line is not of Unified Logging.
func (o *jdk8) claims(line []byte) bool {
	if len(line) < len("[GC") {
		return o.active && len(line) > 0
	}
	switch c := line[0]; {
	case c == '[':
		if o.active && (line[1]-'A' < 26 || line[1] == '1' && line[2] == ' ') {
			return true
		}
		return line[1] == 'G' && isOldPause(line[1:]) || line[1] == 'F' && isOldPause(line[1:])
	case isDigit(c):
		return o.active || mayBeStamped(line)
	case c == 'O', c == 'J':
		return o.active || isHeader(line)
	case c == 'C':
		return o.active || bytes.HasPrefix(line, []byte(flagsBegin))
	}
	return o.active
}

// mayBeStamped reports whether a line that begins with a digit may have a stamp: that ends with a
// colon and a space.
func mayBeStamped(line []byte) bool {
	const date = len("2015-05-26T14:45:37.987-0200")
	if len(line) > date && line[date] == ':' {
		return true
	}
	_, n := digits(line)
	if n == 0 || n == len(line) || line[n] != '.' && line[n] != ',' {
		return false
	}
	_, m := digits(line[n+1:])
	end := n + 1 + m
	return m > 2 && end+1 < len(line) && line[end] == ':' && line[end+1] == ' '
}

// read reads a line without its stamps. The events are valid until the next call. None has a
// number.
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
		case isDigit(c) && (i == 0 || !isWord(text[i-1])):
			i += o.sizes(text[i:])
		default:
			i++
		}
	}
	return o.found
}

// stoppedBegin begins a line that says how long the application was stopped, in JDK 8 and in
// 9 to 12.
const stoppedBegin = "Total time for which application threads were stopped: "

func (o *jdk8) put(e *Event, of whose) {
	if len(o.found) < maxFound {
		e.GC = -1
		o.found = append(o.found, oldEvent{event: *e, of: of})
	}
}

// abandon gives up the pause that is open: its end is lost.
func (o *jdk8) abandon() {
	if o.depth > 0 {
		o.depth = 0
		o.unread++
	}
}

// enter takes in the bracket at text[i], and returns where to go on.
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
		return i + 1 + o.begin(rest)
	case o.ended && end >= 0:
		o.block(inside, i)
	}
	if end < 0 {
		return len(text)
	}
	return i + 1 + end + 1
}

// isOldPause reports whether what follows a bracket begins a pause.
func isOldPause(rest []byte) bool {
	rest, full := cutPrefix(rest, "Full ")
	rest, ok := cutPrefix(rest, "GC")
	if !ok || len(rest) == 0 {
		return ok
	}
	switch rest[0] {
	case '-', '[', ':', ',', '(':
		return true
	case ' ':
		if full {
			return true
		}
		rest = rest[1:]
		for _, word := range [...]string{"(", "[", "pause", "remark", "cleanup", "Before GC", "{", "--"} {
			if bytes.HasPrefix(rest, []byte(word)) {
				return true
			}
		}
		return len(rest) == 0 || isDigit(rest[0])
	}
	return isDigit(rest[0]) || bytes.HasPrefix(rest, []byte("Before GC")) || bytes.HasPrefix(rest, []byte("AdaptiveSize")) || bytes.HasPrefix(rest, []byte("PSAdaptiveSize"))
}

// begin begins a pause. It returns the length of the words that name it.
func (o *jdk8) begin(rest []byte) int {
	o.pause, o.depth, o.lines = oldPause{}, 1, 0
	o.begun++
	o.parts[0], o.ended, o.timed = pausePart, false, false
	p := &o.pause
	after, full := cutPrefix(rest, "Full ")
	p.full = full
	after, _ = cutPrefix(after, "GC")
	switch word := bytes.TrimLeft(after, " "); {
	case bytes.HasPrefix(word, []byte("--")):
		p.failed = true
	case full:
	case bytes.HasPrefix(word, []byte("pause")):
		p.g1 = true
	case bytes.HasPrefix(word, []byte("remark")):
		p.g1, p.remark = true, true
	case bytes.HasPrefix(word, []byte("cleanup")):
		p.g1, p.cleanup = true, true
	}
	return len(rest) - len(after)
}

// oldParts are the parts of a pause.
var oldParts = []struct {
	begin     string
	part      part
	name      []byte // of the old generation
	collector Collector
}{
	{"ParNew", youngPart, []byte("CMS"), CMS},
	{"DefNew", youngPart, []byte("Tenured"), Serial},
	{"PSYoungGen", youngPart, []byte("ParOldGen"), Parallel},
	{"CMS Perm", other, nil, ""},
	{"CMS", oldPart, []byte("CMS"), CMS},
	{"Tenured", oldPart, []byte("Tenured"), Serial},
	{"ParOldGen", oldPart, []byte("ParOldGen"), Parallel},
	{"PSOldGen", oldPart, []byte("PSOldGen"), Parallel},
	{"Metaspace", metaspacePart, nil, ""},
}

// push opens a bracket inside of a pause.
func (o *jdk8) push(rest []byte) {
	if o.depth == maxDepth {
		o.abandon()
		return
	}
	p, kind := &o.pause, other
	if o.depth == 1 {
		for i := range oldParts {
			if known := &oldParts[i]; bytes.HasPrefix(rest, []byte(known.begin)) {
				if kind = known.part; kind == oldPart || kind == youngPart && p.oldName == nil {
					p.oldName = known.name
				}
				if p.collector == "" {
					p.collector = known.collector
				}
				break
			}
		}
		switch {
		case bytes.HasPrefix(rest, []byte("1 CMS-initial-mark")):
			p.initialMark, p.collector = true, CMS
		case bytes.HasPrefix(rest, []byte("1 CMS-remark")):
			p.remark, p.collector = true, CMS
		case bytes.HasPrefix(rest, []byte("YG occupancy")):
			p.occupancy, p.remark, p.collector = true, true, CMS
		}
	}
	o.parts[o.depth] = kind
	o.depth++
}

// leave closes the bracket between text and rest.
func (o *jdk8) leave(text, rest []byte) {
	if o.depth--; o.depth > 0 {
		return
	}
	e := Event{Kind: Pause}
	var ok bool
	if e.Duration, ok = oldLength(text); !ok || !mayFollow(rest) {
		o.unread++
		return
	}
	o.end(&e)
}

// mayFollow reports whether a record may have ended before rest: rest is empty, its CPU times, or
// another record. After anything else, a bracket inside of the record is lost, and what seems to
// be the length of the pause is that of a part.
func mayFollow(rest []byte) bool {
	if _, ok := decimal(bytes.TrimRight(rest, "\r"), time.Second); ok { // the uptime that -XX:+PrintCMSInitiationStatistics begins with
		return true
	}
	rest = bytes.TrimLeft(rest, " \r")
	return len(rest) == 0 || bytes.HasPrefix(rest, []byte("[Times: ")) || isDigit(rest[0]) && mayBeStamped(rest)
}

// group reads the text in round brackets that begins here and returns its length.
func (o *jdk8) group(text []byte) int {
	content, _ := nextGroup(text[:min(len(text), maxName)])
	p := &o.pause
	switch string(content) {
	case "":
		return 1
	case "promotion failed", "concurrent mode failure", "concurrent mode interrupted", "to-space exhausted", "to-space overflow":
		p.failed = true
	}
	if o.depth > 1 {
		return 1
	}
	switch string(content) {
	case "mixed":
		p.mixed = true
	case "initial-mark":
		p.starts = true
	case "partial": // of JDK 6
		p.mixed = p.g1
	case "CMS Initial Mark":
		p.initialMark, p.collector = true, CMS
	case "CMS Final Remark":
		p.remark, p.collector = true, CMS
	case "System":
		p.cause = "System.gc()"
	default:
		if cause, ok := causes[string(content)]; ok && p.cause == "" {
			p.cause = cause
		}
	}
	return len("()") + len(content)
}

// sizes reads the sizes that text begins with, if any, and returns the length of what it read.
func (o *jdk8) sizes(text []byte) int {
	h, coarse, rest, ok := oldSizes(text)
	p, in := &o.pause, o.parts[o.depth-1]
	used := ok && h.Before < 0
	switch {
	case !ok, o.depth > 2:
	case used && in == pausePart && !p.heap.Known:
		p.heap, p.used = Heap{Before: h.After, After: h.After, Capacity: h.Capacity, Known: true}, true
	case used, coarse && in != pausePart:
	case in == pausePart:
		p.heap, p.used, p.coarse = h, false, coarse
	case in == youngPart:
		p.young = h
	case in == oldPart:
		p.old = h
	case in == metaspacePart:
		p.metaspace = h
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

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '.' || c == ',' || c == '_' }

// end reports the pause that has ended.
func (o *jdk8) end(e *Event) {
	o.ended = true
	p := &o.pause
	of := ofPause
	if p.initialMark || p.remark || p.cleanup {
		of = ofCycle
	}
	p.full = p.full || p.old.Known && of == ofPause // the old generation was collected as well
	if of == ofPause && p.old.Known {
		o.put(&Event{Kind: Space, Name: p.oldName, Heap: p.old}, of)
	} else if h, young := p.heap, p.young; of == ofPause && h.Known && !p.coarse && young.Known && h.Before >= young.Before && h.After >= young.After {
		o.put(&Event{Kind: Space, Name: p.oldName, Heap: Heap{Before: h.Before - young.Before, After: h.After - young.After, Known: true}}, of)
	}
	if p.metaspace.Known {
		o.put(&Event{Kind: Metaspace, Heap: p.metaspace}, of)
	}
	if p.failed {
		o.put(&Event{Kind: Failure, Name: oldFailure}, of)
	}
	if p.g1 {
		p.collector = G1
	}
	if p.collector != "" {
		o.collector = p.collector
	}
	e.Heap, e.Name = p.heap, o.nameOf(p)
	o.put(e, of)
	o.found[len(o.found)-1].coarse = p.coarse
}

var oldFailure = []byte("Promotion failed")

// nameOf names a pause as later releases do.
func (o *jdk8) nameOf(p *oldPause) []byte {
	name := o.name[:0]
	switch {
	case p.initialMark:
		return append(name, "Initial Mark"...)
	case p.remark:
		return append(name, "Remark"...)
	case p.cleanup:
		return append(name, "Cleanup"...)
	case p.full:
		name = append(name, "Full"...)
	case p.g1 && p.starts:
		name = append(name, "Young (Concurrent Start)"...)
	case p.g1 && p.mixed:
		name = append(name, "Young (Mixed)"...)
	case p.g1:
		name = append(name, "Young (Normal)"...)
	case p.used: // of CMS up to JDK 6: an initial mark or a remark, and nothing shows which
		return append(name, "CMS"...)
	default:
		name = append(name, "Young"...)
	}
	if p.cause != "" {
		name = append(append(append(name, " ("...), p.cause...), ')')
	}
	return name
}
