package lab

import (
	"fmt"
	"math/rand/v2"
)

// Lines generates numbered lines, always the same for a seed: the writer and the check generate them separately.
// Every line, even a continuation line, contains " line N " with a number that counts from 0.
type Lines struct {
	rng  *rand.Rand
	rate int
	next int // number of the next line
	buf  []byte
}

// NewLines returns the lines of a seed. They have an uptime that advances by one second every rate
// lines.
func NewLines(seed uint64, rate int) *Lines {
	return &Lines{rng: rand.New(rand.NewPCG(seed, 0)), rate: max(1, rate)}
}

// Count returns how many lines were generated so far.
func (l *Lines) Count() int { return l.next }

const filler = "0123456789 abcdefghijklmnopqrstuvwxyz: 12M->3M(64M) 0.123ms µs \xff "

// Next returns the next record with its newline, valid until the next call. Most records are one line of 40 to 300
// bytes, some have continuation lines, and a few are longer than one write of HotSpot.
func (l *Lines) Next() []byte {
	l.buf = l.buf[:0]
	l.header()
	switch l.rng.IntN(2000) {
	case 0:
		l.fill(5000 + l.rng.IntN(8000))
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		for range 1 + l.rng.IntN(20) {
			l.fill(10 + l.rng.IntN(60))
			l.buf = append(l.buf, "\n   "...)
			l.number()
		}
		l.fill(10)
	default:
		l.fill(l.rng.IntN(260))
	}
	l.buf = append(l.buf, '\n')
	return l.buf
}

func (l *Lines) header() {
	level := [...]string{"info ", "debug", "trace", "warning"}[min(3, l.rng.IntN(64)/16*l.rng.IntN(2))]
	l.buf = fmt.Appendf(l.buf, "[%.3fs][%s][gc,heap] GC(%d)", float64(l.next)/float64(l.rate), level, l.next/40)
	l.number()
}

func (l *Lines) number() {
	l.buf = fmt.Appendf(l.buf, " line %d ", l.next)
	l.next++
}

func (l *Lines) fill(n int) {
	for n > 0 {
		at := l.rng.IntN(len(filler))
		part := filler[at:min(len(filler), at+n)]
		l.buf = append(l.buf, part...)
		n -= len(part)
	}
}
