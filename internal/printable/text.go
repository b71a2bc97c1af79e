package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// mark stands for what was cut off.
const mark = "…"

// Line returns s as one line that a terminal shows rather than obeys. A line end
// or a tab becomes a space. Any other control character becomes a question mark,
// as does a character that is invisible or changes the direction of text. Bytes
// that are not UTF-8 become U+FFFD.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsGraphic(r):
			return r
		case r == '\n' || r == '\t':
			return ' '
		}
		return '?'
	}, s)
}

// Text is [Line] with at most limit bytes, of which a cut text spends the last
// three on a mark. Text leaves its own results as they are, with the same limit.
func Text(s string, limit int) string {
	// Only a beginning of s is looked at: each character, of four bytes at most,
	// becomes a byte at least.
	s = Line(s[:min(len(s), utf8.UTFMax*(limit+1))])
	if len(s) <= limit {
		return s
	}
	end := max(limit-len(mark), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// Escaped is [Text] for values that a person has to find again: what is not
// printable is written as in a string of Go, "\n" or "\u202e". It cuts between
// two characters of s.
func Escaped(s string, limit int) string {
	var b []byte
	cut := 0
	for _, r := range s {
		if strconv.IsPrint(r) {
			b = utf8.AppendRune(b, r)
		} else {
			quoted := strconv.QuoteRune(r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		if len(b) > limit {
			return string(b[:cut]) + mark
		}
		if len(b) <= limit-len(mark) {
			cut = len(b)
		}
	}
	return string(b)
}

// JSON writes the characters of a JSON text that [Line] replaces as escapes, "\u202e".
// The text means the same: JSON permits such characters only inside strings. Bytes
// that are not UTF-8 become U+FFFD.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsGraphic(r) || r == '\n' || r == '\t':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Clip shortens a printable text to n columns, the mark included. It takes each
// character for one column.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + mark
}
