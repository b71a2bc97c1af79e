package format

import "github.com/ullage/ullage/internal/line/ul"

// isStamped reports whether a line that begins with a digit is from the collector's log of JDK 8:
//
//	2015-05-26T14:45:37.987-0200: 151.126: [GC (Allocation Failure) …
//	151.126: Total time for which application threads were stopped: …
func isStamped(line []byte) bool {
	if len(line) < len("0.123: [GC") || !hasStamp(line) {
		return false
	}
	var r ul.Record
	r.Parse(line)
	return r.Stamped
}

// hasStamp reports whether the first stamp of a line may be JDK 8's: it ends with a colon and a
// space. In the lines of other programs, a space and a word follow the date.
func hasStamp(line []byte) bool {
	const date = len("2015-05-26T14:45:37.987-0200")
	if len(line) > date+1 && line[4] == '-' {
		return line[date] == ':' && line[date+1] == ' '
	}
	for i, c := range line[:min(len(line), len("31536000.123456789: "))] {
		if c == ':' {
			return i+1 < len(line) && line[i+1] == ' '
		}
		if !isDigit(c) && c != '.' && c != ',' {
			return false
		}
	}
	return false
}
