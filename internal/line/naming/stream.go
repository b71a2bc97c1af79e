package naming

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DetailSuffix ends the name of a stream with saved lines. Before it is the name of the stream
// that the lines were withheld from.
const DetailSuffix = "+detail"

// lostFound is a directory of ext4 in the root of a volume, and so not one of a
// stream.
const lostFound = "lost+found"

// Valid reports whether a name can be that of a stream's directory, a
// label value and a line in a table.
func Valid(name string) bool {
	return len(name) <= 200 && !strings.HasPrefix(name, ".") && StreamOf(name) != lostFound && utf8.ValidString(name) &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// StreamOf returns the stream of a file name: the name without the number
// that HotSpot appends to an archive, a dot and one to three digits (its
// filecount is at most 1,000). JDK 8 numbers the file that it writes as well, NAME.0.current:
// the last part goes when the file is full. An output that itself is named so cannot be
// distinguished from an archive. Files that are not logs have no archives: each of
// them is a stream. The events of all JVMs that have the same process number, one
// after the other, are one stream.
func StreamOf(name string) string {
	if stream, ok := EventsOf(name); ok {
		return stream
	}
	if full, ok := strings.CutSuffix(name, ".current"); ok {
		if _, ok := ArchiveNumber(full); ok {
			name = full
		}
	}
	if _, ok := ArchiveNumber(name); ok {
		return name[:strings.LastIndexByte(name, '.')]
	}
	return name
}

// ArchiveNumber returns the number at the end of an archive's name, and whether there is one.
func ArchiveNumber(name string) (number int, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	digits := name[dot+1:]
	if KindOf(name) != KindLog || dot < 1 || len(digits) < 1 || len(digits) > 3 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}

// IsEvents reports whether a stream is one that [EventsOf] returns.
func IsEvents(stream string) bool {
	pid, isLog := strings.CutSuffix(stream, ".log")
	pid, isEvents := strings.CutPrefix(pid, "events-")
	return isLog && isEvents && pid != "" && strings.Trim(pid, "0123456789") == ""
}

// EventsOf returns the stream of a file that the sidecar itself writes events into:
// events-PID.log of events-PID-MS.log, where MS are milliseconds since the epoch, with or without
// another number after them. See package ring.
func EventsOf(name string) (stream string, ok bool) {
	base, isLog := strings.CutSuffix(name, ".log")
	rest, isEvents := strings.CutPrefix(base, "events-")
	parts := strings.Split(rest, "-")
	if !isLog || !isEvents || len(parts) < 2 || len(parts) > 3 || len(parts[1]) < 12 {
		return "", false
	}
	for _, digits := range parts {
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return "", false
		}
	}
	return "events-" + parts[0] + ".log", true
}
