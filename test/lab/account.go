package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Account is what became of the lines of a [Flood]: the writer itself lost a line at a full tmpfs, or the line was
// persisted, or it was dropped at a place where a marker says so.
type Account struct {
	Tried     int    // lines that the writer made
	Cut       int    // those whose newline a full tmpfs did not take: the JVM's own loss
	Written   Counts // complete lines of the file, by level
	Persisted Counts // written lines that were persisted, perhaps glued as in the file
	Dropped   Drops  // by the markers, by reason and level
	Withheld  Counts // missing without a marker, as lines below --persist-level may be
	Gaps      int    // places with a marker
	Split     int    // places with more than one marker
	Loose     int    // lines glued to a cut one, and further lines of their record: their level is unknown

	Unmarked int // missing lines that no marker counts
	Twice    int // persisted again, or later than they should be
	Foreign  int // persisted and never written
	Changed  int // persisted with other bytes

	Wrong []string // the first errors, for people
}

// mostWrong is how many errors are kept.
const mostWrong = 10

// Exact reports whether every written line was persisted once, in order and byte for byte, or lies in a gap. The
// marker of a gap must be at that very place and have the gap's number of lines, for each level, and of bytes. Counts
// of levels may differ only by as many lines as are loose.
func (a Account) Exact() bool { return len(a.Wrong) == 0 }

func (a Account) String() string {
	text := fmt.Sprintf("%d lines attempted, %d cut or lost at a full tmpfs, %d written, %d persisted, %d dropped in %d gaps (%d of several markers)",
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

// SettleWithheld is Settle for a flood with withheld lines, as many of each level as the checkpoint counts. Their
// places are unknown. So a line that is missing in addition to those of a marker counts as withheld, and the sum of
// these lines must be that of the checkpoint.
func SettleWithheld(dest, stream string, report FloodReport, withheld Counts) (Account, error) {
	s := newSettlement(report)
	s.withholds = true
	a, err := settle(s, dest, stream)
	if err != nil {
		return a, err
	}
	over := withheld.Total() - a.Withheld.Total()
	// A drain ends a last line that the writer has cut and withholds it.
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

// settlement walks through the persisted lines and the written lines, side by side.
type settlement struct {
	account Account
	truth   *truth

	withholds bool // lines may be missing without a marker

	next physical // the next line that was written
	more bool     // there is a next line
	read int      // persisted lines, markers too
	gap  gap
	odd  []byte // a line that was never written; only a cut one at the end is allowed
}

// gap is what is missing before the next line, and what the markers there say.
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

// line takes the next persisted line.
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
		s.wrong("is there twice, or too late: %.200q", line)
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

// foreign reports an odd line unless it is the last one.
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

// within reports whether o has at least as many lines of each level, apart from at most loose lines whose level is
// unknown.
func (c Counts) within(o Counts, loose int) bool {
	more := 0
	for level, n := range c {
		more += max(0, n-o[level])
	}
	return more <= loose && c.Total() <= o.Total()
}

// distance is the sum of the differences between counts.
func distance(a, b Counts) (sum int) {
	for i := range a {
		sum += max(a[i]-b[i], b[i]-a[i])
	}
	return sum
}

// end closes the account. The beginning of a last line without a newline may be persisted or not: a sidecar that
// drains ends such a line.
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

// lastNumber returns the last number in a line of [Records]: a line that is glued to a cut one has two numbers.
func lastNumber(line []byte) (int, bool) {
	at := bytes.LastIndexByte(line, '#') + 1
	if at == 0 || len(line) < at+10 {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[at : at+10]))
	return n, err == nil && n >= 0
}
