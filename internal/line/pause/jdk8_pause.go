package pause

import "bytes"

// whose says which collection an event belongs to.
type whose uint8

const (
	ofNone  whose = iota
	ofPause       // of the pause that ends here
	ofCycle       // of the current concurrent cycle
	ofLast        // of the pause that ended last
)

// part is the content of an open bracket.
type part uint8

const (
	other part = iota
	pausePart
	youngPart
	oldPart
	metaspacePart
)

// oldPause has the parts of a pause that were read so far.
type oldPause struct {
	full, g1, mixed, starts, initialMark, remark, cleanup, failed bool

	occupancy bool // a remark of CMS, which may collect the young generation first
	coarse    bool // the heap's sizes are coarse
	used      bool // the line shows the use of the heap after the pause, but not before it
	cause     string
	collector Collector
	heap      Heap
	young     Heap
	old       Heap
	metaspace Heap
	oldName   []byte
}

// beginOldPause returns the pause that begins with the words after its opening bracket.
func beginOldPause(rest []byte) oldPause {
	after, full := cutPrefix(rest, "Full ")
	after, _ = cutPrefix(after, "GC")
	p := oldPause{full: full}
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
	return p
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

// enter reads the words after an outermost bracket of a pause and returns which part it is.
func (p *oldPause) enter(rest []byte) part {
	switch {
	case bytes.HasPrefix(rest, []byte("1 CMS-initial-mark")):
		p.initialMark, p.collector = true, CMS
	case bytes.HasPrefix(rest, []byte("1 CMS-remark")):
		p.remark, p.collector = true, CMS
	case bytes.HasPrefix(rest, []byte("YG occupancy")):
		p.occupancy, p.remark, p.collector = true, true, CMS
	}
	for i := range oldParts {
		known := &oldParts[i]
		if !bytes.HasPrefix(rest, []byte(known.begin)) {
			continue
		}
		if known.part == oldPart || known.part == youngPart && p.oldName == nil {
			p.oldName = known.name
		}
		if p.collector == "" {
			p.collector = known.collector
		}
		return known.part
	}
	return other
}

// failure notes a failure that a text in parentheses, anywhere in a pause, reports. It ignores other texts.
func (p *oldPause) failure(text []byte) {
	switch string(text) {
	case "promotion failed", "concurrent mode failure", "concurrent mode interrupted", "to-space exhausted", "to-space overflow":
		p.failed = true
	}
}

// word reads a text in parentheses outside the parts of a pause.
func (p *oldPause) word(text []byte) {
	switch string(text) {
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
		if cause, ok := causes[string(text)]; ok && p.cause == "" {
			p.cause = cause
		}
	}
}

// sizes records the sizes of a part.
func (p *oldPause) sizes(in part, h Heap, coarse bool) {
	used := h.Before < 0
	switch {
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
}

// end completes the pause at the end of its record. It returns which collection the pause
// belongs to.
func (p *oldPause) end() whose {
	if p.g1 {
		p.collector = G1
	}
	if p.initialMark || p.remark || p.cleanup {
		return ofCycle
	}
	p.full = p.full || p.old.Known // the old generation was collected too
	return ofPause
}

// tenured returns the sizes of the old generation: from its own part, or the heap minus the young generation.
func (p *oldPause) tenured() (Heap, bool) {
	h, young := p.heap, p.young
	switch {
	case p.old.Known:
		return p.old, true
	case h.Known && !p.coarse && young.Known && h.Before >= young.Before && h.After >= young.After:
		return Heap{Before: h.Before - young.Before, After: h.After - young.After, Known: true}, true
	}
	return Heap{}, false
}

// appendName appends the name that later releases use for such a pause.
func (p *oldPause) appendName(name []byte) []byte {
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
	case p.used: // CMS up to JDK 6: an initial mark or a remark; the line does not show which
		return append(name, "CMS"...)
	default:
		name = append(name, "Young"...)
	}
	if p.cause != "" {
		name = append(append(append(name, " ("...), p.cause...), ')')
	}
	return name
}
