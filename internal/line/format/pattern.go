package format

import (
	"bytes"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	escape = 0x1b

	// What may stand between the time and the level: threads, MDC and markers.
	maxWords  = 2
	maxGroups = 3
	maxGroup  = 256 // bytes of a bracketed field
)

// parsePattern returns the header of a line that begins with a time and shows a level soon
// behind it:
//
//	07:36:35.123 [main] INFO  com.example.Main -- text
//	2026-11-23T07:36:35.123Z  WARN 4711 --- [demo] [main] com.example.Main : text
//	[2026-11-23 07:36:35,123] ERROR text
//	[2026-11-23T07:36:35,123][WARN ][o.e.n.Node] text
func parsePattern(line []byte, at *stamp) (h header, ok bool) {
	i := skipEscapes(line, 0)
	open := i < len(line) && line[i] == '['
	if open {
		i++
	}
	n := at.readStamp(line[i:])
	if n == 0 {
		return h, false
	}
	if i += n; open {
		if i >= len(line) || line[i] != ']' {
			return h, false
		}
		i++
	}
	switch {
	case i >= len(line):
		return h, false
	case open && line[i] == '[':
		// Further brackets may be decorations of UL, and the words behind them a message.
		word, _ := group(line, i)
		h.level = levelOf(word)
	case line[i] == ' ', line[i] == escape:
		h.level = findLevel(line, i)
	}
	h.format = Pattern
	return h, h.level != ul.Unknown
}

// findLevel returns the level of the first field from i on that names one, or Unknown.
func findLevel(line []byte, i int) ul.Level {
	for words, groups := 0, 0; ; {
		i = skipSpace(line, i)
		if i >= len(line) {
			return ul.Unknown
		}
		if line[i] == '[' {
			content, end := group(line, i)
			if level := levelOf(content); level != ul.Unknown || end == 0 {
				return level
			}
			if groups++; groups > maxGroups {
				return ul.Unknown
			}
			i = end
			continue
		}
		end := i
		for end < len(line) && line[end] > ' ' && line[end] != ':' && line[end] != '|' {
			end++
		}
		if level := levelOf(line[i:end]); level != ul.Unknown {
			return level
		}
		if words++; words > maxWords {
			return ul.Unknown
		}
		i = max(end, i+1)
	}
}

// group returns the content of the bracketed field at line[i], without spaces and escapes
// around it, and the offset behind it: 0 if it does not end. Brackets may be nested, as a
// thread's name may have some.
func group(line []byte, i int) (content []byte, end int) {
	if end = bytes.IndexByte(line[i:min(len(line), i+maxGroup)], ']') + i; end < i {
		return nil, 0
	}
	if bytes.LastIndexByte(line[i:end], '[') == 0 {
		return trim(line[:end], i+1), end + 1
	}
	depth := 0
	for end = i; end < min(len(line), i+maxGroup); end++ {
		switch line[end] {
		case '[':
			if line[end-min(end, 1)] != escape {
				depth++
			}
		case ']':
			if depth--; depth == 0 {
				return trim(line[:end], i+1), end + 1
			}
		}
	}
	return nil, 0
}

// trim returns the text from i on without spaces and escapes around it. It keeps those
// behind more than a single word: that is not a level.
func trim(text []byte, i int) []byte {
	i = skipSpace(text, i)
	end := i
	for end < len(text) && text[end] > ' ' {
		end++
	}
	if skipSpace(text, end) < len(text) {
		end = len(text)
	}
	return text[i:end]
}

// skipSpace returns the offset of the first byte from i on that is neither a space nor a
// part of an escape.
func skipSpace(line []byte, i int) int {
	for {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '|') {
			i++
		}
		next := skipEscapes(line, i)
		if next == i {
			return i
		}
		i = next
	}
}

// skipEscapes returns the offset behind the escapes that begin at line[i] and that color
// text, like ESC [ 0 ; 3 9 m.
func skipEscapes(line []byte, i int) int {
	for i+2 < len(line) && line[i] == escape && line[i+1] == '[' {
		end := i + 2
		for end < len(line) && (isDigit(line[end]) || line[end] == ';') {
			end++
		}
		if end >= len(line) || line[end] != 'm' {
			return i
		}
		i = end + 1
	}
	return i
}
