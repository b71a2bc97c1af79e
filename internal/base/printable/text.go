package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// mark replaces the part that was cut off.
const mark = "…"

// Line returns s as one line without characters that a terminal interprets. A line end or a tab
// becomes a space. Any other control character becomes a question mark, and so does a character
// that is invisible or changes the direction of text. Bytes that are not UTF-8 become U+FFFD.
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

// Text is [Line] with at most limit bytes. A shortened text ends with a mark of
// three bytes. Applying Text to its own result with the same limit changes
// nothing.
func Text(s string, limit int) string {
	// Only the beginning of s matters: a character of at most four bytes
	// becomes at least one byte.
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

// Escaped is like [Text], for values that a person must be able to look up: unprintable
// characters are written as in a Go string, such as "\n" or "\u202e". It cuts between two
// characters of s.
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

// JSON escapes the characters of a JSON text that [Line] replaces: "\u202e".
// The text keeps its meaning, because JSON permits such characters only inside
// strings. Bytes that are not UTF-8 become U+FFFD.
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

// Clip shortens a printable text to n columns, including the mark. It counts
// each character as one column.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + mark
}

// Name formats a name for a message. It quotes a name that could be mistaken
// for something else.
func Name(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || strings.ContainsRune(` "'\`, r) || r == unicode.ReplacementChar
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
