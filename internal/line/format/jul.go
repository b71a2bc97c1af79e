package format

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	months  = "JanFebMarAprMayJunJulAugSepOctNovDec"
	narrow  = "\u202f" // before AM and PM, in JDK 20 and later
	maxWord = len("WARNING: ")
)

// parseJUL returns the header of the first of JUL's two lines:
//
//	Nov 23, 2026 7:36:35 AM com.example.Main main
//	WARNING: text
//
// This is SimpleFormatter's default format, without the property
// java.util.logging.SimpleFormatter.format.
func parseJUL(line, rest []byte, at *stamp) (h header, ok bool) {
	if len(line) < len("Nov 3, 2026 7:36:35 AM") || line[3] != ' ' {
		return h, false
	}
	month := monthOf(line[:3])
	if month < 0 {
		return h, false
	}
	at.month = time.Month(month)
	i := 4
	if at.day, i = shortNumber(line, i); !is(line, i, ", ") {
		return h, false
	}
	if at.year = number(line, i+2, 4); at.year <= 0 || !is(line, i+6, " ") {
		return h, false
	}
	if at.hour, i = shortNumber(line, i+7); !is(line, i, ":") || !is(line, i+3, ":") {
		return h, false
	}
	at.minute, at.second = number(line, i+1, 2), number(line, i+4, 2)
	if i += 6; is(line, i, narrow) {
		i += len(narrow)
	} else if is(line, i, " ") {
		i++
	}
	afternoon := is(line, i, "PM")
	if at.day <= 0 || at.minute < 0 || at.second < 0 || at.hour < 1 || at.hour > 12 || !afternoon && !is(line, i, "AM") {
		return h, false
	}
	if at.hour %= 12; afternoon {
		at.hour += 12
	}
	h.format, h.level = JUL, julLevel(rest)
	return h, true
}

// julLevel returns the level at the beginning of the second of JUL's two lines, or Unknown.
func julLevel(line []byte) ul.Level {
	word, _, found := bytes.Cut(line[:min(len(line), maxWord)], []byte(": "))
	if !found {
		return ul.Unknown
	}
	return levelOf(word)
}

// shortNumber reads one or two digits at text[i], and returns -1 if there is no digit.
func shortNumber(text []byte, i int) (n, end int) {
	if n := number(text, i, 2); n >= 0 {
		return n, i + 2
	}
	return number(text, i, 1), i + 1
}

// is reports whether want is at text[i].
func is(text []byte, i int, want string) bool {
	return i+len(want) <= len(text) && string(text[i:i+len(want)]) == want
}
