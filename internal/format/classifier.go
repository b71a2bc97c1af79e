package format

import (
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// maxHead is how many bytes of a line are looked at.
const maxHead = 16 << 10

// Classifier classifies the lines of one stream. It must receive them in order. The zero
// value accepts all formats, and is ready for a stream's first line or for a line in its
// middle: until the first header, continuations have level Unknown. Each stream needs its
// own Classifier. A copy goes on independently. A Classifier is not safe for concurrent use.
type Classifier struct {
	ul   ul.Classifier
	only Format // Auto: all
	last Format // of the last header; Auto: there was none
}

// New returns a Classifier that accepts only the headers of one format, and the sidecar's
// own markers. Auto accepts all.
func New(only Format) Classifier { return Classifier{only: only} }

// Classify returns the class of the next line, given without its newline. Rest is what is
// known to follow that newline, possibly nothing: only the first line of JUL's two needs it,
// and has level Unknown where rest does not show the second.
func (c *Classifier) Classify(line, rest []byte) ul.Class {
	if c.only != Auto && c.only != UL {
		return c.classifyOnly(line, rest)
	}
	bracket := len(line) > 0 && line[0] == '['
	if bracket || c.only == UL {
		class := c.ul.Classify(line)
		if c.only == UL || class.Level != ul.Unknown && class.Kind == ul.Header {
			c.last = UL
			return class
		}
		if h, ok := c.headerOf(line, rest); ok {
			return c.begin(h)
		}
		return class
	}
	if h, ok := c.headerOf(line, rest); ok {
		return c.begin(h)
	}
	return c.ul.Classify(line)
}

// Level returns the level that a continuation inherits now.
func (c *Classifier) Level() ul.Level { return c.ul.Level() }

// Resume prepares c for a place in a stream where a continuation inherits level, which is
// Unknown if it is not known.
func (c *Classifier) Resume(level ul.Level) { c.ul.Resume(level) }

// Format returns the format of the last header, or Auto if there was none.
func (c *Classifier) Format() Format { return c.last }

// classifyOnly classifies the line where one format is accepted that is not UL. A marker
// does not change what a continuation inherits.
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
	if c.last == Auto && c.ul.Level() == ul.Unknown {
		return ul.Class{}
	}
	return ul.Class{Kind: ul.Continuation, Level: c.ul.Level()}
}

// begin begins a record.
func (c *Classifier) begin(h header) ul.Class {
	c.last = h.format
	c.ul.Resume(h.level)
	return ul.Class{Kind: ul.Header, Level: h.level}
}

// headerOf returns the header of a line that is not UL. An object without a level is a
// header only behind another object: elsewhere it may be a part of a message.
func (c *Classifier) headerOf(line, rest []byte) (h header, ok bool) {
	h, ok = parse(line, rest)
	return h, ok && (h.format != JSON || h.level != ul.Unknown || c.last == JSON || c.only == JSON)
}

// header is the beginning of a record.
type header struct {
	format Format
	level  ul.Level
	at     stamp
}

// parse returns the header that a line is, if it is one.
func parse(line, rest []byte) (h header, ok bool) {
	if len(line) < 8 {
		return h, false
	}
	line = line[:min(len(line), maxHead)]
	switch c := line[0]; {
	case c == '{':
		return parseJSON(line)
	case isDigit(c), c == '[', c == escape:
		return parsePattern(line)
	case c-'A' < 26:
		return parseJUL(line, rest)
	}
	return h, false
}

// When returns the time of a line that is not UL and is a header with a level and a date.
// A time without a zone is taken as UTC.
func When(line []byte) (time.Time, bool) {
	h, ok := parse(line, nil)
	if !ok || h.level == ul.Unknown && h.format != JUL {
		return time.Time{}, false
	}
	return h.at.time()
}
