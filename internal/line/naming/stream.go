package naming

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DetailSuffix ends the name of a stream of saved lines. It follows the name of the stream from
// which the lines were withheld.
const DetailSuffix = "+detail"

// lostFound is a directory that ext4 creates in the root of a volume, so it can't be a
// stream's.
const lostFound = "lost+found"

// Valid reports whether a name can be the name of a stream's directory, a
// label value and a line in a table.
func Valid(name string) bool {
	return len(name) <= 200 && !strings.HasPrefix(name, ".") && StreamOf(name) != lostFound && utf8.ValidString(name) &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// StreamOf returns the stream of a file name: the name without an archive's
// suffix. HotSpot appends a dot and one to three digits to the name of an archive
// (its filecount is at most 1,000). JDK 8 also numbers the file that it is writing,
// as NAME.0.current; it removes ".current" when the file is full. An output
// whose own name has such a suffix can't be distinguished from an archive. Files
// that are not logs have no archives: each of them is a stream. The events of
// successive JVMs with the same process number are one stream.
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

// IsEvents reports whether [EventsOf] could return the stream.
func IsEvents(stream string) bool {
	pid, isLog := strings.CutSuffix(stream, ".log")
	pid, isEvents := strings.CutPrefix(pid, "events-")
	return isLog && isEvents && pid != "" && strings.Trim(pid, "0123456789") == ""
}

// EventsOf returns the stream of a file that the sidecar itself writes events to: events-PID.log
// for events-PID-MS.log and events-PID-MS-N.log, where MS is a time in milliseconds since the epoch
// and N is another number. See package ring.
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
