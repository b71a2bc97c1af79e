package report

import "bytes"

// looksLikePause reports whether a message that was not parsed as an event seems to be a pause:
// a pause in the format of another JDK release, a truncated one, or one with a decimal comma.
func looksLikePause(message []byte) bool {
	if len(message) == 0 {
		return false
	}
	switch message[0] {
	case 'G':
		last := message[len(message)-1]
		if last != 's' || !bytes.HasPrefix(message, []byte("GC(")) {
			return false
		}
		_, rest, ok := bytes.Cut(message, []byte(") "))
		return ok && (bytes.HasPrefix(rest, []byte("Pause ")) && bytes.HasSuffix(rest, []byte("ms")) || bytes.HasPrefix(rest, []byte("User=")))
	case 'S':
		return bytes.HasPrefix(message, []byte(`Safepoint "`))
	case 'T':
		return bytes.HasPrefix(message, []byte("Total time for which application threads were stopped"))
	}
	return false
}

// mayBecomePause reports whether an incomplete line could turn out to be a line about a stop,
// judging by how its message begins. It returns false for the announcement of a pause (gc,start).
func mayBecomePause(line, message []byte) bool {
	switch {
	case message == nil && (len(line) == 0 || line[0] == '['):
		return false
	case message == nil:
		message = line
	case bytes.Contains(line[:len(line)-len(message)], []byte(",start")):
		return false
	}
	if rest, ok := bytes.CutPrefix(message, []byte("GC(")); ok {
		rest = bytes.TrimLeft(rest, "0123456789")
		for _, form := range [...]string{") Pause ", ") y: Pause ", ") Y: Pause ", ") O: Pause ", ") User="} {
			if n := min(len(rest), len(form)); string(rest[:n]) == form[:n] {
				return true
			}
		}
		return false
	}
	for _, form := range [...]string{`Safepoint "`, "Total time for which application threads were stopped"} {
		if n := min(len(message), len(form)); string(message[:n]) == form[:n] {
			return n > 0
		}
	}
	return false
}
