package lab

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Marker has the contents of a marker line, which describes the gap at its place. The parser shares no code with the
// product.
type Marker struct {
	Time    time.Time // of the first dropped line
	Lines   int
	Bytes   int64
	In      time.Duration
	Dropped Drops
}

// Drops has the number of lines for each reason and level.
type Drops map[string]Counts

// Counts has the number of lines for each level.
type Counts [NumLevels]int

// Total returns the sum over all levels.
func (c Counts) Total() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

// From returns the sum over a level and all more severe levels.
func (c Counts) From(level Level) (sum int) {
	for _, n := range c[level:] {
		sum += n
	}
	return sum
}

func (c Counts) plus(o Counts) Counts {
	for i, n := range o {
		c[i] += n
	}
	return c
}

func (c Counts) String() string {
	var b strings.Builder
	for l := Error; ; l-- {
		if c[l] > 0 {
			b.WriteString(" " + l.String() + "=" + strconv.Itoa(c[l]))
		}
		if l == Unknown {
			return strings.TrimSpace(b.String())
		}
	}
}

// Total returns the lines of all reasons, by level.
func (d Drops) Total() (sum Counts) {
	for _, counts := range d {
		sum = sum.plus(counts)
	}
	return sum
}

// markerLine is "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1290 lines,
// 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50".
var markerLine = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000)\]\[warning\]\[ullage\] gap: (\d+) lines?, (\d+) bytes? dropped in (\d+\.\d{3})s: ((?:(?:; )?(?:discard|drop)(?: [a-z]+=\d+)+)+)\n?$`)

var markerTag = []byte("[ullage] gap: ")

// ParseMarker parses a marker line. The number of lines must equal the sum of the counts.
func ParseMarker(line []byte) (Marker, bool) {
	// This cheap test avoids matching the expression against all other lines.
	if !bytes.Contains(line[:min(len(line), 64)], markerTag) {
		return Marker{}, false
	}
	found := markerLine.FindSubmatch(line)
	if found == nil {
		return Marker{}, false
	}
	m := Marker{Dropped: Drops{}}
	m.Time, _ = time.Parse("2006-01-02T15:04:05.000-0700", string(found[1]))
	m.Lines, _ = strconv.Atoi(string(found[2]))
	m.Bytes, _ = strconv.ParseInt(string(found[3]), 10, 64)
	m.In, _ = time.ParseDuration(string(found[4]) + "s")
	for part := range strings.SplitSeq(string(found[5]), "; ") {
		words := strings.Fields(part)
		counts := m.Dropped[words[0]]
		for _, word := range words[1:] {
			name, number, _ := strings.Cut(word, "=")
			level, ok := levelNamed(name)
			n, err := strconv.Atoi(number)
			if !ok || err != nil {
				return Marker{}, false
			}
			counts[level] += n
		}
		m.Dropped[words[0]] = counts
	}
	return m, m.Dropped.Total().Total() == m.Lines
}
