package cat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/line/ul"
)

// jsonTime is the form of times in objects; it is RFC 3339.
const jsonTime = "2006-01-02T15:04:05.000Z07:00"

// printJSON prints a piece of a line of a series as an object, or as a part of one. The text
// field comes last, so that a long line need not be held in memory.
func (p *Printer) printJSON(s *series) error {
	out, text := p.buf[:0], s.cur.Text
	if p.amid != s {
		if len(text) == 0 {
			return nil // another series' line has already ended this line's object
		}
		if p.amid != nil {
			out = append(out, "\"}\n"...)
		}
		out, text = s.appendHead(out, text)
		p.split = p.split[:0]
	}
	if s.cur.Last {
		text = bytes.TrimSuffix(text, []byte{'\n'})
	}
	if len(p.split) > 0 {
		text = append(p.split, text...)
	}
	n := len(text)
	if !s.cur.Last {
		n = wholeRunes(text)
	}
	out = appendText(out, text[:n])
	p.split = append(p.split[:0], text[n:]...)
	p.amid = s
	if s.cur.Last {
		out = append(out, "\"}\n"...)
		p.amid = nil
	}
	p.buf = out
	_, err := p.text.Write(out)
	return err
}

// appendHead appends the beginning of the object for a line, up to its text, and returns
// the message of the line: the line without its decorations.
func (s *series) appendHead(out, text []byte) (head, message []byte) {
	line := &s.pick.line
	body := bytes.TrimSuffix(text, []byte{'\n'})
	var r ul.Record
	r.Parse(body)
	if line.Kind == ul.Continuation && r.Kind != ul.Continuation || !s.cur.First {
		r = ul.Record{Message: body} // the line looks like a record but is not one
	}
	out = append(out, '{')
	if !line.Time.IsZero() {
		out = append(out, `"time":"`...)
		out = line.Time.UTC().AppendFormat(out, jsonTime)
		out = append(out, `",`...)
	}
	if _, read := s.pick.dates.Clock.Read(); !read.IsZero() {
		out = append(out, `"read":"`...)
		out = read.UTC().AppendFormat(out, jsonTime)
		out = append(out, `",`...)
	}
	out = append(out, `"stream":"`...)
	out = appendText(out, []byte(s.name))
	out = append(out, '"')
	if line.Run > 0 {
		out = append(out, `,"run":`...)
		out = strconv.AppendInt(out, int64(line.Run), 10)
	}
	if line.Level != ul.Unknown {
		out = append(out, `,"level":"`...)
		out = append(out, line.Level.String()...)
		out = append(out, '"')
	}
	out = appendRecord(out, &r)
	out = append(out, `,"text":"`...)
	return out, text[len(body)-len(r.Message):]
}

// appendRecord appends a record's tags, uptime and collection.
func appendRecord(out []byte, r *ul.Record) []byte {
	if len(r.Tags) > 0 {
		out = append(out, `,"tags":["`...)
		out = append(out, bytes.ReplaceAll(r.Tags, []byte{','}, []byte(`","`))...)
		out = append(out, `"]`...)
	}
	if up, ok := r.Since(); ok {
		out = append(out, `,"uptime":`...)
		out = strconv.AppendFloat(out, up.Seconds(), 'f', -1, 64)
	}
	if id, ok := r.Collection(); ok {
		out = append(out, `,"gc":`...)
		out = strconv.AppendUint(out, uint64(id), 10)
	}
	return out
}

// wholeRunes returns the length of text without an incomplete rune at its end, which
// continues in the next piece.
func wholeRunes(text []byte) int {
	for n := len(text) - 1; n >= 0 && n >= len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if utf8.FullRune(text[n:]) {
				break
			}
			return n
		}
	}
	return len(text)
}

// appendText appends text as the content of a JSON string. Bytes that are not UTF-8 become
// the replacement character.
func appendText(out, text []byte) []byte {
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] >= ' ' && text[n] < utf8.RuneSelf && text[n] != '"' && text[n] != '\\' {
			n++
		}
		out, text = append(out, text[:n]...), text[n:]
		if len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
		text = text[size:]
	}
	return out
}

// gapObject is a gap as an object.
type gapObject struct {
	Time    string              `json:"time,omitempty"` // of the first dropped line, the cut line, or the JVM's report
	Stream  string              `json:"stream"`
	Kind    gapKind             `json:"kind"`
	Lines   *uint64             `json:"lines,omitempty"` // absent if Kind is full: the number is unknown
	Bytes   *uint64             `json:"bytes,omitempty"` // for dropped
	Seconds *float64            `json:"seconds,omitempty"`
	Discard map[ul.Level]uint64 `json:"discard,omitzero"` // lines by level, for dropped
	Drop    map[ul.Level]uint64 `json:"drop,omitzero"`
}

// encodeGap prints a gap as an object. The next flush returns any write error.
func (p *Printer) encodeGap(stream string, g gap) {
	o := gapObject{Stream: stream, Kind: g.kind}
	if !g.at.IsZero() {
		o.Time = g.at.UTC().Format(jsonTime)
	}
	seconds := func(d time.Duration) *float64 { return new(d.Round(time.Millisecond).Seconds()) }
	if g.kind != full {
		o.Lines = &g.lines
	}
	switch {
	case g.kind == dropped:
		o.Bytes, o.Seconds = &g.marker.Bytes, seconds(g.marker.Last.Sub(g.marker.First))
		o.Discard, o.Drop = byLevel(g.marker, ul.Discard), byLevel(g.marker, ul.DropAll)
	case g.took > 0:
		o.Seconds = seconds(g.took)
	}
	_ = json.NewEncoder(p.text).Encode(o)
}

func byLevel(g ul.Gap, r ul.Reason) map[ul.Level]uint64 {
	m := map[ul.Level]uint64{}
	for level, n := range g.Lines[r] {
		if n > 0 {
			m[ul.Level(level)] = n
		}
	}
	return m
}
