package format

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// maxHead is how many bytes of a line are examined.
const maxHead = 16 << 10

// Classifier classifies the lines of one stream. It must receive the lines in order. The
// zero value accepts all formats and is ready for any line of a stream, its first or a
// later one: until the first header, continuations have level Unknown. Each stream needs
// its own Classifier. A copy continues independently. A Classifier is not safe for
// concurrent use.
type Classifier struct {
	ul   ul.Classifier
	only Format // Auto: all
	last Format // of the last header; Auto: no header yet
	half bool   // the last line was the first of JUL's two lines, and its level is not known yet
}

// New returns a Classifier that accepts only the headers of one format and the sidecar's
// own markers. Auto accepts all formats.
func New(only Format) Classifier { return Classifier{only: only} }

// Classify returns the class of the next line, without its newline. rest is the text after that
// newline, if it is known. Only the first of JUL's two lines needs it. If the second line is
// not in rest, the first has level Unknown and the second is itself a header.
// [Classifier.Whole] keeps the two lines together.
func (c *Classifier) Classify(line, rest []byte) ul.Class {
	if c.only == UL {
		c.last = UL
		return c.ul.Classify(line)
	}
	bracket := len(line) > 0 && line[0] == '['
	if bracket && c.last == UL {
		if class, ok := c.ul.Repeats(line); ok {
			return class
		}
	}
	if c.only != Auto {
		return c.classifyOnly(line, rest)
	}
	if bracket {
		return c.classifyUL(line, rest)
	}
	if mayBegin(line) || c.half {
		if h, ok := c.headerOf(line, rest); ok {
			return c.begin(h)
		}
	}
	return c.ul.Classify(line)
}

// classifyUL classifies a line that is probably UL. Brackets without a level are UL
// decorations, except after an application's header.
func (c *Classifier) classifyUL(line, rest []byte) ul.Class {
	inherited := c.ul.Level()
	class := c.ul.Classify(line)
	if class.Level != ul.Unknown && class.Kind == ul.Header {
		c.last = UL
		return class
	}
	if class.Kind == ul.Drop {
		return class
	}
	if mayBegin(line) {
		if h, ok := c.headerOf(line, rest); ok && (h.level != ul.Unknown || class.Kind != ul.Header || c.ofApplication()) {
			return c.begin(h)
		}
	}
	if class.Kind == ul.Header && c.ofApplication() {
		c.ul.Resume(inherited)
		return ul.Class{Kind: ul.Continuation, Level: inherited}
	}
	return class
}

// ofApplication reports whether an application wrote the last header.
func (c *Classifier) ofApplication() bool { return c.last != Auto && c.last != UL }

// Whole returns how many bytes of data, which consists of lines, can be classified before more
// data arrives. It leaves out the last line if that line is the first of JUL's two lines, unless
// data has no other line. It looks at the last line only if the last header was JUL's.
func (c *Classifier) Whole(data []byte) int {
	if c.last != JUL || len(data) == 0 {
		return len(data)
	}
	begin := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	var at stamp
	if _, first := parseJUL(data[begin:], nil, &at); first && begin > 0 {
		return begin
	}
	return len(data)
}

// Level returns the level that a continuation would inherit now.
func (c *Classifier) Level() ul.Level { return c.ul.Level() }

// Resume prepares c for a place in a stream where a continuation inherits level. The level
// may be Unknown.
func (c *Classifier) Resume(level ul.Level) {
	c.half = false
	c.ul.Resume(level)
}

// Format returns the format of the last header, or Auto if there was no header.
func (c *Classifier) Format() Format { return c.last }

// classifyOnly classifies a line when only one format other than UL is accepted. A marker
// does not change the level that a continuation inherits.
func (c *Classifier) classifyOnly(line, rest []byte) ul.Class {
	if _, ok := ul.ParseMarker(line); ok {
		return ul.Class{Kind: ul.Header, Level: ul.Warning}
	}
	if c.only == Plain {
		return ul.Class{}
	}
	if h, ok := c.headerOf(line, rest); ok && h.format == c.only {
		return c.begin(h)
	}
	if c.only == Pattern && isStamped(line) && line[4] == '-' {
		return c.begin(header{format: Pattern}) // a date without a level
	}
	if c.last == Auto && c.ul.Level() == ul.Unknown {
		return ul.Class{}
	}
	return ul.Class{Kind: ul.Continuation, Level: c.ul.Level()}
}

// begin begins a record.
func (c *Classifier) begin(h header) ul.Class {
	c.last, c.half = h.format, h.format == JUL && h.level == ul.Unknown
	c.ul.Resume(h.level)
	return ul.Class{Kind: ul.Header, Level: h.level}
}

// headerOf returns the header of a line that is not UL. A JSON object without a level is a
// header only after another object: elsewhere it may be part of a message.
func (c *Classifier) headerOf(line, rest []byte) (h header, ok bool) {
	if c.half {
		c.half = false
		if level := julLevel(line); level != ul.Unknown {
			return header{JUL, level}, true
		}
	}
	if level := flatLevel(line[:min(len(line), maxHead)]); level != ul.Unknown {
		return header{JSON, level}, true
	}
	var at stamp
	h, ok = parse(line, rest, &at)
	return h, ok && (h.format != JSON || h.level != ul.Unknown || c.last == JSON || c.only == JSON)
}

// header is the beginning of a record.
type header struct {
	format Format
	level  ul.Level
}

// begins holds the first bytes of headers.
var begins = func() (is [256]bool) {
	for _, c := range "[{<# 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ\x1b" {
		is[c] = true
	}
	return is
}()

// mayBegin reports whether a line may be a header. If not, it need not be parsed.
func mayBegin(line []byte) bool {
	if len(line) < shortest || !begins[line[0]] {
		return false
	}
	switch c := line[0]; {
	case c == '[' && isDigit(line[1]):
		// [07:36:35, [2026-11-23, [23-Nov-2026, [11/3/26, but not [0.397s] nor [12.397s].
		return line[3] == ':' || line[3] == line[6] || isSeparator(line[5]) || isSeparator(line[3]) && line[3] != '.' || line[2] == '/'
	case c == '[':
		// [WARN ], [ WARN], [#|2026-11-23, [otel.javaagent 2026-11-23, [dd.trace 2026-11-23.
		return isUpper(line[1]) || isUpper(line[2]) || line[1] == '#' || line[1] == 'o' || line[1] == 'd'
	case c == ' ':
		return isUpper(line[1]) && isUpper(line[4]) // WARN 2026-11-23
	case isUpper(c):
		return line[3] == ' ' || isUpper(line[3]) // Nov 23, WARN 2026-11-23
	}
	return true
}

// shortest is the length of the shortest header: a time.
const shortest = len("07:36:35")

// parse returns the header of a line that is a header and reads its time into at.
func parse(line, rest []byte, at *stamp) (h header, ok bool) {
	if len(line) < shortest {
		return h, false
	}
	line = line[:min(len(line), maxHead)]
	switch c := line[0]; {
	case c == '{':
		return parseJSON(line, at)
	case isDigit(c):
		if isStamped(line) {
			return header{format: JDK8}, true
		}
		return parsePattern(line, at)
	case c == '[':
		return parseBracket(line, at)
	case c == escape:
		if i := skipEscapes(line, 0); i > 0 {
			return parse(line[i:], rest, at)
		}
	case c == '<', c == '#':
		return parseWebLogic(line)
	case c == ' ':
		return parseLevelFirst(line, at)
	case isUpper(c):
		if h, ok = parseJUL(line, rest, at); !ok {
			return parseLevelFirst(line, at)
		}
	}
	return h, ok
}

// Begins reports whether a line that is not UL may be taken for the first line of a record.
// Package ring indents a further line of a record if that is true of it, so that it does not look
// like a first line.
func Begins(line []byte) bool {
	var at stamp
	_, ok := parse(line, nil, &at)
	return ok || flatLevel(line[:min(len(line), maxHead)]) != ul.Unknown
}

// When returns the time of a header with a level and a date, in any format except UL. A
// time without a zone is taken as UTC.
func When(line []byte) (time.Time, bool) {
	var at stamp
	h, ok := parse(line, nil, &at)
	if !ok || h.level == ul.Unknown && h.format != JUL {
		return time.Time{}, false
	}
	return at.time()
}
