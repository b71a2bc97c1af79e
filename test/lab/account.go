package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Account counts the lines of a [Flood]: a line was lost by the writer itself at a full tmpfs, or persisted, or
// dropped where a marker reports it.
type Account struct {
	Tried     int    // lines that the writer attempted
	Cut       int    // lines whose newline a full tmpfs did not take: the JVM's own loss
	Written   Counts // complete lines of the file, by level
	Persisted Counts // written lines that were persisted; lines that are glued together in the file are one line
	Dropped   Drops  // according to the markers, by reason and level
	Withheld  Counts // missing without a marker, which is allowed below --persist-level
	Gaps      int    // places with a marker
	Split     int    // places with more than one marker
	Loose     int    // lines glued to a cut line, and later lines of their record: their level is unknown

	Unmarked int // missing lines that no marker counts
	Twice    int // persisted again, or out of order
	Foreign  int // persisted and never written
	Changed  int // persisted with other bytes

	Wrong []string // the first errors, for failure messages
}

// mostWrong is how many errors are kept.
const mostWrong = 10

// Exact reports whether every written line was persisted once, in order and byte for byte, or is in a gap. The marker
// of a gap must be at the place of the gap and have its number of bytes, and its number of lines at each level. The
// counts for levels may differ only by the number of loose lines.
func (a Account) Exact() bool { return len(a.Wrong) == 0 }

func (a Account) String() string {
	text := fmt.Sprintf("%d lines attempted, %d cut or lost at a full tmpfs, %d written, %d persisted, %d dropped in %d gaps (%d with several markers)",
		a.Tried, a.Cut, a.Written.Total(), a.Persisted.Total(), a.Dropped.Total().Total(), a.Gaps, a.Split)
	for _, reason := range []string{"discard", "drop"} {
		if counts, ok := a.Dropped[reason]; ok {
			text += fmt.Sprintf("; %s %s", reason, counts)
		}
	}
	if n := a.Withheld.Total(); n > 0 {
		text += fmt.Sprintf("; %d withheld", n)
	}
	if a.Exact() {
		return text + "; exact"
	}
	text += fmt.Sprintf("; WRONG: %d missing without a marker, %d twice, %d foreign, %d changed", a.Unmarked, a.Twice, a.Foreign, a.Changed)
	for _, wrong := range a.Wrong {
		text += "\n  " + wrong
	}
	return text
}

// Settle draws up the account of a flood that has stopped, from everything that was persisted of its stream.
func Settle(dest, stream string, report FloodReport) (Account, error) {
	return settle(newSettlement(report), dest, stream)
}

// SettleWithheld is Settle for a flood with withheld lines, whose number at each level is in the checkpoint. Their
// places are unknown. So a missing line that no marker counts is taken to be withheld, and the sum of these lines
// must equal the sum in the checkpoint.
func SettleWithheld(dest, stream string, report FloodReport, withheld Counts) (Account, error) {
	s := newSettlement(report)
	s.withholds = true
	a, err := settle(s, dest, stream)
	if err != nil {
		return a, err
	}
	over := withheld.Total() - a.Withheld.Total()
	// If the writer has cut its last line, a drain adds a newline and withholds that line.
	if over < 0 || over > min(1, len(s.truth.held)) || distance(withheld, a.Withheld) > 2*a.Loose+over {
		s.wrong("%d lines (%s) are missing beyond the markers, and the checkpoint counts %d as withheld (%s)", a.Withheld.Total(), a.Withheld, withheld.Total(), withheld)
	}
	a.Wrong = s.account.Wrong
	return a, nil
}

func settle(s *settlement, dest, stream string) (Account, error) {
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(ReadStream(pipe, dest, stream)) }()
	defer r.Close()
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return s.account, fmt.Errorf("settle: a persisted line has more than %d bytes", in.Size())
		}
		if len(line) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			return s.end(), nil
		}
		if err != nil {
			return s.end(), err
		}
	}
}

// settlement compares the persisted lines with the written lines, one by one.
type settlement struct {
	account Account
	truth   *truth

	withholds bool // lines may be missing without a marker

	next physical // the next line that was written
	more bool     // there is a next line
	read int      // persisted lines, including markers
	gap  gap
	odd  []byte // a line that was never written; allowed only for a cut last line
}

// gap has the lines that are missing before the next line, and the markers at that place.
type gap struct {
	missing Counts
	bytes   int64
	loose   int
	markers []Marker
}

func newSettlement(report FloodReport) *settlement {
	s := &settlement{truth: newTruth(report), account: Account{Tried: int(report.Lines), Dropped: Drops{}}}
	s.advance()
	return s
}

// advance proceeds to the next written line.
func (s *settlement) advance() {
	if s.next, s.more = s.truth.read(); !s.more {
		return
	}
	s.account.Written[s.next.level]++
	if s.next.loose {
		s.account.Loose++
	}
}

func (s *settlement) wrong(format string, args ...any) {
	if len(s.account.Wrong) < mostWrong {
		s.account.Wrong = append(s.account.Wrong, fmt.Sprintf("persisted line %d: ", s.read)+fmt.Sprintf(format, args...))
	}
}

// line compares the next persisted line.
func (s *settlement) line(line []byte) {
	s.foreign()
	s.read++
	if m, ok := ParseMarker(line); ok {
		s.gap.markers = append(s.gap.markers, m)
		return
	}
	number, ok := lastNumber(line)
	if !ok || number >= s.account.Tried {
		s.odd = bytes.Clone(line)
		return
	}
	if s.more && number < int(s.next.number) {
		s.account.Twice++
		s.wrong("occurs twice or out of order: %.200q", line)
		return
	}
	s.skip(number)
	if !s.more || number != int(s.next.number) {
		s.odd = bytes.Clone(line)
		return
	}
	s.settle()
	if !bytes.Equal(line, s.next.text) {
		s.account.Changed++
		s.wrong("has other bytes:\n    got  %.200q\n    want %.200q", line, s.next.text)
	}
	s.account.Persisted[s.next.level]++
	s.advance()
}

// foreign reports an odd line, if there is one.
func (s *settlement) foreign() {
	if s.odd != nil {
		s.account.Foreign++
		s.wrong("was never written: %.200q", s.odd)
		s.odd = nil
	}
}

// skip counts the lines before the given number as missing.
func (s *settlement) skip(number int) {
	for s.more && int(s.next.number) < number {
		s.gap.missing[s.next.level]++
		s.gap.bytes += int64(len(s.next.text))
		if s.next.loose {
			s.gap.loose++
		}
		s.advance()
	}
}

// settle compares a gap with its markers.
func (s *settlement) settle() {
	g := s.gap
	s.gap = gap{}
	if g.missing.Total() == 0 && len(g.markers) == 0 {
		return
	}
	var said Counts
	bytes := int64(0)
	for _, m := range g.markers {
		for reason, counts := range m.Dropped {
			s.account.Dropped[reason] = s.account.Dropped[reason].plus(counts)
		}
		said = said.plus(m.Dropped.Total())
		bytes += m.Bytes
	}
	if len(g.markers) > 0 {
		s.account.Gaps++
	}
	if len(g.markers) > 1 {
		s.account.Split++
	}
	if s.withholds && said.within(g.missing, g.loose) && bytes <= g.bytes {
		for level, n := range g.missing {
			s.account.Withheld[level] += n - said[level]
		}
		return
	}
	if said.Total() == g.missing.Total() && bytes == g.bytes && distance(said, g.missing) <= 2*g.loose {
		return
	}
	s.account.Unmarked += max(0, g.missing.Total()-said.Total())
	s.wrong("before it, %d lines (%s), %d bytes are missing, and %d markers say %d lines (%s), %d bytes",
		g.missing.Total(), g.missing, g.bytes, len(g.markers), said.Total(), said, bytes)
}

// within reports whether o has at least as many lines as c, in total and at each level. At the levels, the number of
// missing lines may be up to loose, since the level of these lines is unknown.
func (c Counts) within(o Counts, loose int) bool {
	more := 0
	for level, n := range c {
		more += max(0, n-o[level])
	}
	return more <= loose && c.Total() <= o.Total()
}

// distance returns the sum of the differences between the counts.
func distance(a, b Counts) (sum int) {
	for i := range a {
		sum += max(a[i]-b[i], b[i]-a[i])
	}
	return sum
}

// end closes the account. A last line without a newline may be persisted or not: a sidecar that drains adds a
// newline to it.
func (s *settlement) end() Account {
	s.skip(s.account.Tried)
	if held := s.truth.held; len(held) > 0 && bytes.Equal(s.odd, append(held, '\n')) {
		s.odd = nil
	}
	s.foreign()
	s.read++
	s.settle()
	s.account.Cut = s.account.Tried - s.account.Written.Total()
	return s.account
}

// lastNumber returns the last number in a line of [Records]: a line that is glued to a cut line has two
// numbers.
func lastNumber(line []byte) (int, bool) {
	at := bytes.LastIndexByte(line, '#') + 1
	if at == 0 || len(line) < at+10 {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[at : at+10]))
	return n, err == nil && n >= 0
}
