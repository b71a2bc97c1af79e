package ul

import (
	"bytes"
	"math/bits"
	"strconv"
	"time"
)

// Reason is the reason why lines were dropped. The zero value is Discard.
type Reason uint8

// The reasons.
const (
	Discard Reason = iota // below --keep-level
	DropAll               // lines of any level
)

// NumReasons is the number of reasons, for arrays indexed by reason.
const NumReasons = 2

var reasonNames = [NumReasons]string{"discard", "drop"}

// String returns the reason as in markers and metrics.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// A Gap counts the lines that were dropped on purpose at one place of a stream. The zero value
// means that no lines were dropped. Counts are exact. They wrap like any uint64, but that would
// take a JVM centuries.
type Gap struct {
	Lines       [NumReasons][NumLevels]uint64
	Bytes       uint64    // bytes of these lines, newlines included
	First, Last time.Time // when the first and the last of these lines were removed from their file
}

// Add merges another gap into g: counts add up, and the times are the earlier
// First and the later Last. A zero time is unknown.
func (g *Gap) Add(o Gap) {
	for r := range o.Lines {
		for l, n := range o.Lines[r] {
			g.Lines[r][l] += n
		}
	}
	g.Bytes += o.Bytes
	if g.First.IsZero() || !o.First.IsZero() && o.First.Before(g.First) {
		g.First = o.First
	}
	if o.Last.After(g.Last) {
		g.Last = o.Last
	}
}

// Total returns the number of lines of all reasons and levels.
func (g *Gap) Total() uint64 {
	n := uint64(0)
	for r := range g.Lines {
		n += g.of(Reason(r))
	}
	return n
}

// of returns the number of lines with one reason.
func (g *Gap) of(r Reason) uint64 {
	n := uint64(0)
	for _, lines := range g.Lines[r] {
		n += lines
	}
	return n
}

// MaxMarkerBytes is the length of the longest marker with its newline.
const MaxMarkerBytes = 480

const (
	markerIntro = "][warning][ullage] gap: "
	markerHead  = 1 + len(timeForm) + len(markerIntro)
)

// AppendMarker appends the line that represents the gap in the persisted
// stream, with its newline, and returns the extended slice. It has UL's form, a
// [Header] at level [Warning] with the tag ullage:
//
//	[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50
//
// The time is First in UTC. The duration after "in" is from First to Last. Both
// are truncated to milliseconds; if the clock went back, the duration is 0.000s.
// Reasons and levels without lines are omitted. A gap without lines has no marker:
// dst is returned unchanged. AppendMarker allocates nothing if dst has room for
// [MaxMarkerBytes].
func (g *Gap) AppendMarker(dst []byte) []byte {
	total := g.Total()
	if total == 0 {
		return dst
	}
	dst = append(dst, '[')
	dst = writable(g.First).AppendFormat(dst, TimeLayout)
	dst = append(dst, markerIntro...)
	dst = strconv.AppendUint(dst, total, 10)
	dst = append(dst, " lines, "...)
	dst = strconv.AppendUint(dst, g.Bytes, 10)
	dst = append(dst, " bytes dropped in "...)
	ms := uint64(max(g.Last.Sub(g.First), 0) / time.Millisecond)
	dst = strconv.AppendUint(dst, ms/1000, 10)
	dst = append(dst, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10), 's')
	separator := ": "
	for r := range Reason(NumReasons) {
		if g.of(r) == 0 {
			continue
		}
		dst = append(dst, separator...)
		dst = g.appendReason(dst, r)
		separator = "; "
	}
	return append(dst, '\n')
}

// appendReason appends the counts of one reason, from error down to unknown.
func (g *Gap) appendReason(dst []byte, r Reason) []byte {
	dst = append(dst, r.String()...)
	for l := NumLevels - 1; l >= 0; l-- {
		if n := g.Lines[r][l]; n > 0 {
			dst = append(dst, ' ')
			dst = append(dst, levelNames[l]...)
			dst = append(dst, '=')
			dst = strconv.AppendUint(dst, n, 10)
		}
	}
	return dst
}

// writable returns t in UTC, in a year of four digits. With any other year, the marker would
// not have UL's form.
func writable(t time.Time) time.Time {
	t = t.UTC()
	switch {
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	}
	return t
}

// ParseMarker parses a line that [Gap.AppendMarker] wrote, with or without its
// newline. It accepts no other line: appending the marker of the gap gives the same
// line. Times are in UTC and whole milliseconds. As with all lines, the text does
// not prove who wrote it.
func ParseMarker(line []byte) (Gap, bool) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if !MayBeMarker(line) || len(line) >= MaxMarkerBytes || !isTime(line[1:1+len(timeForm)]) {
		return Gap{}, false
	}
	g, ok := readMarker(line)
	if !ok {
		return Gap{}, false
	}
	// readMarker also accepts other lines, such as those with counts in another
	// order. They are not our markers.
	var own [MaxMarkerBytes]byte
	if !bytes.Equal(bytes.TrimSuffix(g.AppendMarker(own[:0]), []byte{'\n'}), line) {
		return Gap{}, false
	}
	return g, true
}

// MayBeMarker is a quick check whether a line may be a marker. A search for markers among all
// lines need not call [ParseMarker] for each line.
func MayBeMarker(line []byte) bool {
	return len(line) > markerHead && string(line[markerHead-len(markerIntro):markerHead]) == markerIntro
}

// readMarker parses a line that may be a marker.
func readMarker(line []byte) (g Gap, ok bool) {
	if g.First, ok = parseTime(line[1 : 1+len(timeForm)]); !ok {
		return g, false
	}
	s := markerText{rest: line[markerHead:]}
	s.count(" lines, ") // the counts by level must add up to this number
	g.Bytes = s.count(" bytes dropped in ")
	seconds, ms := s.count("."), s.count("s: ")
	const maxMillis = uint64(1<<63-1) / uint64(time.Millisecond)
	if ms > 999 || seconds > (maxMillis-ms)/1000 {
		return g, false
	}
	g.Last = g.First.Add(time.Duration(seconds*1000+ms) * time.Millisecond)
	total, carry := uint64(0), uint64(0)
	for r := range g.Lines {
		if !s.skip(reasonNames[r]) {
			continue
		}
		for s.skip(" ") {
			level := levelOf(s.until('='))
			n := s.count("")
			if total, carry = bits.Add64(total, n, 0); carry > 0 {
				return g, false
			}
			g.Lines[r][level] = n
		}
		s.skip("; ")
	}
	return g, !s.bad
}

// markerText is the part of a marker that is still to be parsed.
type markerText struct {
	rest []byte
	bad  bool // a number was invalid
}

// skip skips text if it comes next.
func (s *markerText) skip(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// until skips past the next end and returns the text before it.
func (s *markerText) until(end byte) []byte {
	text, rest, _ := bytes.Cut(s.rest, []byte{end})
	s.rest = rest
	return text
}

// count parses a number and the text after it.
func (s *markerText) count(behind string) uint64 {
	n, i := uint64(0), 0
	for ; i < len(s.rest) && isDigit(s.rest[i]); i++ {
		d := uint64(s.rest[i] - '0')
		if n > (1<<64-1-d)/10 {
			s.bad = true
			return 0
		}
		n = n*10 + d
	}
	s.rest = s.rest[i:]
	s.bad = s.bad || i == 0 || !s.skip(behind)
	return n
}
