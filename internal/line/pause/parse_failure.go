package pause

import "bytes"

// readFailure reads a message which says that there was no room to which objects could be
// moved.
func (e *Event) readFailure(text []byte) bool {
	// With generations, Shenandoah appends the size for which there was no room.
	text, _, _ = bytes.Cut(text, []byte(", size "))
	switch string(text) {
	case "To-space exhausted", "Promotion failed":
		e.Kind, e.Name = Failure, text
		return true
	}
	return false
}

// readGivenUp reads three messages of Shenandoah: a thread gets no memory, "Failed to allocate
// Shared, 295K"; a collection is given up, "Cancelling GC: Allocation Failure"; and a
// degenerated collection is upgraded. If it returns false, it has set nothing.
func (e *Event) readGivenUp(text []byte) bool {
	if string(text) == upgrading || string(text) == cannotFinish {
		e.Kind, e.Name = Cancel, text
		return true
	}
	kind, name := Failure, text
	if cause, ok := cutPrefix(text, "Cancelling GC: "); ok {
		kind, name = Cancel, cause
	} else if rest, ok := cutPrefix(text, "Failed to allocate "); ok {
		var amount []byte
		name, amount, _ = bytes.Cut(rest, []byte(", "))
		_, n := digits(amount)
		if n == 0 || n+1 != len(amount) || !isLetter(amount[n]) {
			return false
		}
	} else {
		return false
	}
	if !isPauseName(name) {
		return false
	}
	e.Kind, e.Name = kind, name
	return true
}
