package ul

import "math"

// The drop message is "%6u messages dropped due to async logging", at level
// warning and without tags.
const (
	dropSuffix = " messages dropped due to async logging"
	dropWidth  = 6
	dropDigits = 10 // digits of the largest unsigned int
)

// findDrop makes r a Drop if it has the drop message, unless the line shows another level or
// tags: with decorators "none" the message is the whole line. A blank bracket before the
// message represents the empty tags of an output that shows only tags. A single word before it
// is the hostname, because the message has no tags.
func (r *Record) findDrop(line []byte) {
	if !endsAsDrop(r.Message) || r.Level != Unknown && r.Level != Warning {
		return
	}
	host := r.Ambiguous&Tags != 0
	if len(r.Tags) != 0 && !host {
		return
	}
	n, ok := parseDropped(r.Message[:len(r.Message)-len(dropSuffix)])
	if !ok {
		return
	}
	switch {
	case r.Kind == Continuation:
		r.set(Tags, line[1:1])
	case host:
		r.set(Hostname, r.Tags)
		r.Tags, r.Present, r.Ambiguous = nil, r.Present&^Tags, r.Ambiguous&^Tags
	}
	r.Kind, r.Level, r.Dropped = Drop, Warning, n
}

func endsAsDrop(text []byte) bool {
	n := len(text) - len(dropSuffix)
	return n >= dropWidth && string(text[n:]) == dropSuffix
}

// parseDropped parses the output of "%6u", and nothing else.
func parseDropped(text []byte) (uint64, bool) {
	if len(text) > dropDigits {
		return 0, false
	}
	i := 0
	for len(text) == dropWidth && i < dropWidth-1 && text[i] == ' ' {
		i++
	}
	n, ok := parseUint(text[i:])
	if !ok || n > math.MaxUint32 || text[i] == '0' && len(text)-i > 1 {
		return 0, false
	}
	return n, true
}

// parseUint parses up to 18 decimal digits, and nothing else.
func parseUint(digits []byte) (uint64, bool) {
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
