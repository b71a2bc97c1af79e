package format

import (
	"bytes"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	escape = 0x1b

	// Bounds on the fields between the time and the level: threads, MDC and markers.
	maxWords  = 2
	maxGroups = 3
	maxGroup  = 256 // bytes of a bracketed field
)

// parsePattern returns the header of a line that begins with a time and shows a level soon
// after the time:
//
//	07:36:35.123 [main] INFO  com.example.Main -- text
//	2026-11-23T07:36:35.123Z  WARN 4711 --- [demo] [main] com.example.Main : text
//	[2026-11-23 07:36:35,123] ERROR text
//	[2026-11-23T07:36:35,123][WARN ][o.e.n.Node] text
//	2026-11-23 07:36:35.123:INFO :oejs.Server:main: text
//
// A line that begins with a date and a time begins a record. If the line shows no level,
// the level is unknown: the record must not have the level of the record before it.
func parsePattern(line []byte, at *stamp) (h header, ok bool) {
	h.format = Pattern
	i, open := 0, line[0] == '['
	if open {
		i++
	}
	n := at.readStamp(line[i:])
	if n == 0 {
		n = at.readMillis(line[i:])
	}
	if i += n; n == 0 {
		if open {
			return parseLiberty(line)
		}
		return h, false
	}
	if open {
		i = at.readName(line, i)
		if i >= len(line) || line[i] != ']' {
			return h, at.dated
		}
		i++
	}
	switch {
	case i >= len(line):
		return h, at.dated
	case open && line[i] == '[':
		// Further brackets may be decorations of UL, and the words after them may be a message.
		word, _ := group(line, i)
		h.level = levelOf(word)
	case line[i] == ':':
		h.level = jettyLevel(line[i+1:])
	case line[i] == ' ', line[i] == '\t', line[i] == '|', line[i] == '[', line[i] == escape:
		if end := at.readName(line, i); !open && bytes.IndexByte(line[i:end], ':') > 0 {
			i = end // findLevel would read GMT+02:00 as more than one word
		}
		h.level = findLevel(line, i)
	}
	if h.level == ul.Unknown && open {
		if liberty, ok := parseLiberty(line); ok {
			return liberty, true
		}
	}
	return h, h.level != ul.Unknown || at.dated
}

// named are the beginnings of lines that have a bracket and a name before their date: those of
// GlassFish, and of the agents of OpenTelemetry and Datadog.
//
//	[#|2026-11-23T07:36:35.123+0100|WARNING|glassfish 5|…
//	[otel.javaagent 2026-11-23 07:36:35:123 +0000] [main] WARN io.opentelemetry.X - text
var named = []string{"[#|", "[otel.javaagent ", "[dd.trace "}

// parseBracket returns the header of a line that begins with a bracket.
func parseBracket(line []byte, at *stamp) (h header, ok bool) {
	if isDigit(line[1]) {
		return parsePattern(line, at)
	}
	for _, begin := range named {
		if is(line, 0, begin) {
			i := len(begin) + at.readStamp(line[len(begin):])
			if is(line, i, "]") {
				i++
			}
			return header{Pattern, findLevel(line, i)}, at.dated
		}
	}
	return parseLevelFirst(line, at)
}

// parseLevelFirst returns the header of a line that shows its level before its date:
//
//	INFO  [main] 2026-11-23 07:36:35,123 Main.java:7 - text
//	ERROR [2026-11-23 07:36:35,123] com.example.Main: text
//	[WARN ] [11/23/2026 07:36:35.123] [main] text
//
// There may be one space before a right-aligned level.
func parseLevelFirst(line []byte, at *stamp) (h header, ok bool) {
	var i int
	if line[0] == '[' {
		var word []byte
		word, i = group(line, 0)
		h.level = levelOf(word)
	} else {
		begin := 0
		if line[0] == ' ' {
			begin++
		}
		for i = begin; i < len(line) && isUpper(line[i]); i++ {
		}
		h.level = levelOf(line[begin:i])
	}
	if h.format = Pattern; h.level == ul.Unknown {
		return h, false
	}
	for range maxGroups {
		if i = skipSpace(line, i); i >= len(line) {
			return h, false
		}
		open := line[i] == '['
		if open {
			i++
		}
		if n := at.readStamp(line[i:]); n > 0 {
			at.readName(line, i+n)
			return h, at.dated
		}
		if !open {
			return h, false
		}
		if _, i = group(line, i-1); i == 0 {
			return h, false
		}
	}
	return h, false
}

// jettyLevel returns the level in Jetty's own log, where it is between two colons.
func jettyLevel(text []byte) ul.Level {
	word, _, found := bytes.Cut(text[:min(len(text), maxLevel+1)], []byte{':'})
	if word = bytes.TrimRight(word, " "); !found {
		return ul.Unknown
	}
	if string(word) == "DBUG" {
		return ul.Debug
	}
	return levelOf(word)
}

// parseWebLogic returns the header of a WebLogic line. The form of its time depends on the
// server's language:
//
//	<Nov 23, 2026 7:36:35,123 AM CET> <Warning> <Security> <BEA-090905> <text>
//	####<Nov 23, 2026 7:36:35,123 AM CET> <Warning> <Security> <host> …
func parseWebLogic(line []byte) (h header, ok bool) {
	line = bytes.TrimPrefix(line, []byte("####"))
	moment, rest, found := bytes.Cut(line[:min(len(line), maxGroup)], []byte("> <"))
	if colon := bytes.IndexByte(moment, ':'); !found || !is(moment, 0, "<") || number(moment, colon-1, 1) < 0 || number(moment, colon+1, 2) < 0 {
		return h, false // such as <soap12:Body> <Error>
	}
	word, _, found := bytes.Cut(rest, []byte{'>'})
	h = header{Pattern, levelOfAnyCase(word)}
	return h, found && h.level != ul.Unknown
}

// parseLiberty returns the header of a line of Liberty or WebSphere. Its level is a letter after
// the number of a thread and a name. The form of its time depends on the server's language:
//
//	[11/23/26, 7:36:35:123 CET] 0000001a com.example.Main    I text
func parseLiberty(line []byte) (h header, ok bool) {
	moment, i := group(line, 0)
	if i == 0 || !isDigit(moment[0]) || bytes.IndexByte(moment, ':') < 0 || !is(line, i, " ") || i+10 > len(line) || line[i+9] != ' ' {
		return h, false
	}
	for _, c := range line[i+1 : i+9] {
		if !isDigit(c) && c-'a' > 5 {
			return h, false
		}
	}
	i = skipSpace(line, i+9)
	for i < len(line) && line[i] > ' ' {
		i++
	}
	i = skipSpace(line, i)
	if i+1 >= len(line) || line[i+1] != ' ' {
		return h, false
	}
	h.format = Pattern
	switch line[i] {
	case 'F', 'E':
		h.level = ul.Error
	case 'W':
		h.level = ul.Warning
	case 'A', 'I', 'C', 'O': // audit, information, configuration, System.out
		h.level = ul.Info
	case '1':
		h.level = ul.Debug
	case '2', '3', '>', '<':
		h.level = ul.Trace
	}
	return h, true
}

// findLevel returns the level of the first field at i or later that names one, or Unknown.
func findLevel(line []byte, i int) ul.Level {
	for words, groups := 0, 0; ; {
		i = skipSpace(line, i)
		if i >= len(line) {
			return ul.Unknown
		}
		if line[i] == '[' {
			content, end := group(line, i)
			if slash := bytes.LastIndexByte(content, '/'); is(line, end, ":") {
				content = content[slash+1:] // [Server thread/WARN]: text
			}
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

// group returns the content of the bracketed field at line[i], without the spaces and escapes
// around it, and the offset after the field, or 0 if the field does not end. Brackets may be
// nested, since a thread's name may have brackets.
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

// trim returns text[i:] without the spaces and escapes around it. If the text has several
// words, trim keeps the trailing spaces: such a text is not a level anyway.
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

// skipSpace returns the offset of the first byte at i or later that is neither a space nor
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

// skipEscapes returns the offset after the escape sequences at line[i] that set a color,
// such as ESC [ 0 ; 3 9 m.
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
