package pause

import (
	"bytes"
	"time"
)

// read reads all of text in the given unit: "24M->5M(64M)", ZGC's "24M(38%)->5M(8%)", or
// "24M->5M".
func (h *Heap) read(text []byte, unit byte) bool {
	rest, ok := h.readFirst(text, unit)
	if !ok || len(rest) > 0 {
		*h = Heap{}
		return false
	}
	return true
}

// readFirst reads the sizes at the beginning of text and returns the rest. JDK 14 and later
// show the capacity on both sides: "24M(64M)->5M(64M)".
func (h *Heap) readFirst(text []byte, unit byte) (rest []byte, ok bool) {
	var share bool
	h.Before, text, ok = size(text, unit)
	if !ok {
		return nil, false
	}
	if len(text) > 0 && text[0] == '(' {
		if _, share, text, ok = bracket(text, unit); !ok {
			return nil, false
		}
	}
	if text, ok = cutPrefix(text, "->"); !ok {
		return nil, false
	}
	if h.After, text, ok = size(text, unit); !ok {
		return nil, false
	}
	if len(text) > 0 && text[0] == '(' {
		capacity, percent, rest, ok := bracket(text, unit)
		if !ok {
			return nil, false
		}
		if share = share || percent; !share {
			h.Capacity = capacity
		}
		text = rest
	}
	h.Known = true
	return text, true
}

// bracket reads "(64M)", or a share "(38%)".
func bracket(text []byte, unit byte) (value int64, share bool, rest []byte, ok bool) {
	text = text[1:]
	if n, length := digits(text); length > 0 {
		if after, ok := cutPrefix(text[length:], "%)"); ok {
			return n, true, after, true
		}
	}
	value, rest, ok = size(text, unit)
	if !ok {
		return 0, false, nil, false
	}
	rest, ok = cutPrefix(rest, ")")
	return value, false, rest, ok
}

// size reads "24M" in the given unit, or "24" with unit 0, and returns bytes.
func size(text []byte, unit byte) (value int64, rest []byte, ok bool) {
	value, n := digits(text)
	shift := 0
	switch unit {
	case 'M':
		shift = 20
	case 'K':
		shift = 10
	}
	if n == 0 || value > maxBytes>>shift {
		return 0, nil, false
	}
	rest = text[n:]
	if unit != 0 {
		if len(rest) == 0 || rest[0] != unit {
			return 0, nil, false
		}
		rest = rest[1:]
	}
	return value << shift, rest, true
}

// maxBytes is larger than any heap, but small enough that sums do not overflow.
const maxBytes = 1 << 56

// spaces are the units of a heap's parts, by their names in the lines of a Space.
var spaces = map[string]byte{
	"Eden regions": 0, "Survivor regions": 0, "Old regions": 0, "Archive regions": 0, "Humongous regions": 0,
	"DefNew": 'K', "Tenured": 'K', "PSYoungGen": 'K', "ParOldGen": 'K', "PSOldGen": 'K', "ParNew": 'K', "CMS": 'K',
}

// readSpace reads "Old regions: 11->12" and "DefNew: 17472K(19648K)->2176K(19648K) Eden: ...".
func (e *Event) readSpace(text []byte) bool {
	i := bytes.IndexByte(text[:min(len(text), 20)], ':')
	if i < 0 || i+2 > len(text) || text[i+1] != ' ' {
		return false
	}
	unit, ok := spaces[string(text[:i])]
	if !ok {
		return false
	}
	e.Kind, e.Name, e.Regions = Space, text[:i], unit == 0
	rest, ok := e.Heap.readFirst(text[i+2:], unit)
	return ok && (len(rest) == 0 || unit == 'K' && rest[0] == ' ')
}

// readMetaspace reads "151K(384K)->151K(384K) NonClass: ...", "151K->151K(1056768K)", or
// ZGC's "0M used, 0M committed, 1088M reserved".
func (e *Event) readMetaspace(text []byte) bool {
	e.Kind = Metaspace
	rest, ok := e.Heap.readFirst(text, 'K')
	if !ok {
		return e.Heap.readUsed(text)
	}
	return len(rest) == 0 || rest[0] == ' '
}

// readUsed reads sizes at one point in time: "12M used, 13M committed, 1088M reserved".
func (h *Heap) readUsed(text []byte) bool {
	var sizes [3]int64
	for i, what := range [...]string{" used, ", " committed, ", " reserved"} {
		var ok bool
		if sizes[i], text, ok = size(text, 'M'); !ok {
			return false
		}
		if text, ok = cutPrefix(text, what); !ok {
			return false
		}
	}
	*h = Heap{After: sizes[0], Capacity: sizes[1], Known: true}
	return len(text) == 0
}

// isCycle reports whether text begins like a collection of ZGC, or like the part of a
// collection in one generation.
func isCycle(text []byte) bool {
	name := ""
	switch text[0] {
	case 'G':
		name = "Garbage Collection ("
	case 'M':
		if name = "Minor Collection ("; len(text) > 1 && text[1] == 'a' {
			name = "Major Collection ("
		}
	case 'Y':
		name = "Young Generation "
	case 'O':
		name = "Old Generation "
	}
	_, ok := cutPrefix(text, name)
	return ok && name != ""
}

// readCycle reads "Major Collection (Proactive)", which begins a cycle, and the line that
// ends it, which also has the sizes of the heap and, in JDK 21 and later, a duration:
// "Young Generation 8M(12%)->12M(19%) 0.011s".
func (e *Event) readCycle(text []byte) bool {
	if !isCycle(text) {
		return false
	}
	name := text
	e.Kind = Begin
	if i := bytes.Index(text, []byte("->")); i >= 0 {
		i = bytes.LastIndexByte(text[:i], ' ')
		if i < 0 {
			return false
		}
		var sizes []byte
		if name, sizes = text[:i], text[i+1:]; !e.readEnd(sizes) {
			return false
		}
		e.Kind = Cycle
	}
	e.Name = name
	// The title of a table, "Young Generation Statistics:", does not begin a cycle.
	return isPauseName(name) && (e.Kind == Cycle || text[0] != 'Y' && text[0] != 'O')
}

// readEnd reads "8M(12%)->12M(19%) 0.011s", or without the seconds.
func (e *Event) readEnd(text []byte) bool {
	rest, ok := e.Heap.readFirst(text, 'M')
	if !ok || len(rest) == 0 {
		return ok
	}
	number, unit := bytes.CutSuffix(rest[1:], []byte("s"))
	e.Duration, ok = decimal(number, time.Second)
	return unit && ok && rest[0] == ' '
}

// readRow reads a row of ZGC's tables with sizes, one for each point in the cycle: "Live: - 3M
// (5%) 3M (5%) ...". The size at the end of the cycle is the fourth in the row Capacity, and
// the last in the other rows.
func (e *Event) readRow(text []byte) bool {
	name := ""
	if len(text) > 20 {
		switch text[0] {
		case 'C':
			name = "Capacity"
		case 'L':
			name = "Live"
		case 'A':
			name = "Allocated"
		case 'P':
			name = "Promoted"
		}
	}
	rest, ok := cutPrefix(text, name)
	if name == "" || !ok || rest[0] != ':' {
		return false
	}
	value, columns, ok := column(rest[1:])
	e.Kind, e.Name = Space, text[:len(name)]
	e.Heap = Heap{After: value, Known: true}
	return ok && columns > 1
}

// maxColumn is the column for the end of the cycle. Two more columns have the extremes.
const maxColumn = 4

// column returns the last size of a row, up to maxColumn, and the number of columns. A dash
// means that the size is not known at that point.
func column(text []byte) (value int64, columns int, ok bool) {
	for {
		text = bytes.TrimLeft(text, " ")
		if len(text) == 0 {
			return value, columns, ok
		}
		if columns++; text[0] == '-' {
			text = text[1:]
			continue
		}
		v, rest, sized := size(text, 'M')
		if !sized {
			return 0, 0, false
		}
		if rest, sized = cutPrefix(rest, " ("); !sized {
			return 0, 0, false
		}
		_, n := digits(rest)
		if text, sized = cutPrefix(rest[n:], "%)"); !sized || n == 0 {
			return 0, 0, false
		}
		if columns <= maxColumn {
			value, ok = v, true
		}
	}
}

// readWorkers reads "Using 2 workers of 2 for evacuation", Shenandoah's "Using 1 of 1 workers
// for concurrent reset", or ZGC's "Using 1 Workers for Young Generation".
func (e *Event) readWorkers(text []byte) bool {
	rest, ok := cutPrefix(text, "Using ")
	count, n := digits(rest)
	if !ok || n == 0 || count > 1<<16 {
		return false
	}
	e.Kind, e.Count = Workers, int(count)
	rest = rest[n:]
	for _, form := range [...]string{" workers of ", " of ", " Workers for ", " Workers"} {
		if after, ok := cutPrefix(rest, form); ok {
			return !bytes.ContainsAny(after, "[(")
		}
	}
	return false
}

// isInit reports whether the tags at the end of a prefix are gc,init.
func isInit(prefix []byte) bool {
	const field = "[" + initTag
	end := len(prefix) - len("] ")
	for end > 0 && prefix[end-1] == ' ' {
		end--
	}
	return end >= len(field) && string(prefix[end-len(field):end]) == field
}

// readInit reads "Heap Region Size: 1M".
func (e *Event) readInit(text []byte) bool {
	i := bytes.Index(text, []byte(": "))
	if i <= 0 || i > maxName || i+2 == len(text) || len(text)-i-2 > maxValue {
		return false
	}
	for _, c := range text {
		if c < ' ' || c > '~' || c == '[' {
			return false
		}
	}
	e.Kind, e.GC, e.Name, e.Value = Init, -1, text[:i], text[i+2:]
	return true
}
