package lab

import (
	"math/rand/v2"
	"strings"
)

// Level is the level of a line, as in UL. The zero value means a line without a level.
type Level uint8

// The levels, from the least to the most severe.
const (
	Unknown Level = iota
	Trace
	Debug
	Info
	Warning
	Error
)

// NumLevels is the length of an array that is indexed by level.
const NumLevels = 6

var levelNames = [NumLevels]string{"unknown", "trace", "debug", "info", "warning", "error"}

// String returns UL's name for the level.
func (l Level) String() string { return levelNames[l] }

// levelNamed returns the level of a name.
func levelNamed(name string) (Level, bool) {
	for l, n := range levelNames {
		if n == name {
			return Level(l), true
		}
	}
	return Unknown, false
}

// One record in 5000 is an error, and ten are warnings; the others are less severe. One record in 40 has several
// lines, and one in 10,000 is longer than a write.
const (
	perError    = 5000
	perWarning  = 500
	perMultiple = 40
	perHuge     = 10_000
	variants    = 32 // of each kind of record
)

// Records generates numbered records at all levels, always the same for a seed: mostly info, debug and trace, as
// in a JVM's log at all=trace, with lines of 60 to 280 bytes, 170 on average. One record in 40 has two to eight
// further lines, either raw or after a blank bracket, as JDKs write them. A few records are longer than one write
// of HotSpot. Every line contains "#NNNNNNNNNN ", its number, in ten digits, counted from 0. The uptime of a
// record is the number of its first line in milliseconds.
//
// A record costs only about 50 ns: it is one of some hundred templates, with the numbers filled in.
type Records struct {
	seed   uint64
	count  uint64
	lines  uint64
	digits [10]byte // lines, in decimal

	plain    [NumLevels][variants]record
	multiple [NumLevels][variants]record
	huge     record
}

// record is the text of a record with room for the numbers.
type record struct {
	text  []byte
	level Level
	at    []int // the offset of each line's number
}

// NewRecords returns the records of a seed.
func NewRecords(seed uint64) *Records {
	r := &Records{seed: seed, digits: [10]byte([]byte("0000000000"))}
	rng := rand.New(rand.NewPCG(seed, 7))
	for level := Trace; level <= Error; level++ {
		for i := range variants {
			r.plain[level][i] = makeRecord(rng, level, 1, 20+i*220/variants)
			r.multiple[level][i] = makeRecord(rng, level, 3+i%7, 20+i*2)
		}
	}
	r.huge = makeRecord(rng, Debug, 1, 9000)
	return r
}

// makeRecord returns a record with the given number of lines, each with a filler of n bytes.
func makeRecord(rng *rand.Rand, level Level, lines, n int) record {
	header := "[0000000.000s][" + level.String() + strings.Repeat(" ", 7-len(level.String())) + "][gc,phases      ]"
	next := []string{"   ", "[" + strings.Repeat(" ", len(header)-2) + "] "}[rng.IntN(2)]
	r := record{level: level, text: []byte(header + " ")}
	for i := range lines {
		if i > 0 {
			r.text = append(r.text, next...)
		}
		r.at = append(r.at, len(r.text)+1)
		r.text = append(r.text, "#0000000000 "...)
		for left := n; left > 0; {
			from := rng.IntN(len(filler))
			part := filler[from:min(len(filler), from+left)]
			r.text = append(r.text, part...)
			left -= len(part)
		}
		r.text = append(r.text, '\n')
	}
	return r
}

// Count returns how many records were generated so far.
func (r *Records) Count() uint64 { return r.count }

// Lines returns how many lines were generated so far.
func (r *Records) Lines() uint64 { return r.lines }

// Next returns the next record with its newline, valid until the next call, and the level of all its lines.
func (r *Records) Next() ([]byte, Level) {
	rec := r.pick()
	r.count++
	copy(rec.text[1:8], r.digits[:7])
	copy(rec.text[9:12], r.digits[7:])
	for _, at := range rec.at {
		copy(rec.text[at:], r.digits[:])
		r.lines++
		for i := len(r.digits) - 1; i >= 0; i-- {
			if r.digits[i]++; r.digits[i] <= '9' {
				break
			}
			r.digits[i] = '0'
		}
	}
	return rec.text, rec.level
}

// pick chooses a template. The choice depends only on the seed and the number of the record.
func (r *Records) pick() *record {
	x := mixed(r.seed + r.count*0x9e3779b97f4a7c15)
	variant := x % variants
	x >>= 8
	level := Info
	switch {
	case x%perError == 0:
		level = Error
	case x%perWarning == 1:
		level = Warning
	case x>>40%10 < 4:
		level = Debug
	case x>>40%10 < 7:
		level = Trace
	}
	switch x >>= 16; {
	case level < Info && x%perHuge == 0:
		return &r.huge
	case x%perMultiple == 1:
		return &r.multiple[level][variant]
	}
	return &r.plain[level][variant]
}

// mixed is the finalizer of splitmix64.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
