package pause

import "bytes"

// readFailure reads that there was no room to move objects to.
func (e *Event) readFailure(text []byte) bool {
	// Shenandoah with generations goes on with what it lacked room for.
	text, _, _ = bytes.Cut(text, []byte(", size "))
	switch string(text) {
	case "To-space exhausted", "Promotion failed":
		e.Kind, e.Name = Failure, text
		return true
	}
	return false
}

// readGivenUp reads what Shenandoah logs when a thread gets no memory: "Failed to allocate
// Shared, 295K"; and when it gives up a collection: "Cancelling GC: Allocation Failure", or
// that it upgrades a degenerated one. It sets nothing if it returns false.
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
