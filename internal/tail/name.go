package tail

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lostFound is a directory of ext4 in the root of a volume, and so not one of a
// stream.
const lostFound = "lost+found"

// ValidName reports whether a name can be that of a stream's directory, a
// label value and a line in a table.
func ValidName(name string) bool {
	return len(name) <= 200 && !strings.HasPrefix(name, ".") && StreamName(name) != lostFound && utf8.ValidString(name) &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// StreamName returns the stream of a file name: the name without the number
// that HotSpot appends to an archive, a dot and one to three digits (its
// filecount is at most 1,000). An output that itself is named so cannot be
// distinguished from an archive. Files that are not logs have no archives: each of
// them is a stream.
func StreamName(name string) string {
	if _, ok := archiveNumber(name); ok {
		return name[:strings.LastIndexByte(name, '.')]
	}
	return name
}

// archiveNumber returns the number at the end of an archive's name.
func archiveNumber(name string) (number int, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	digits := name[dot+1:]
	if KindOf(name) != KindLog || dot < 1 || len(digits) < 1 || len(digits) > 3 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}
