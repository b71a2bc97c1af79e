package spool

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

const (
	// BlockBytes is the most bytes of a source file in one record. A block
	// and a marker together fit into one frame of a segment.
	BlockBytes = 1<<20 - 4<<10

	// MinRest is the minimum length of a stretch of rest before a kept line. It
	// exceeds the longest marker.
	MinRest = 1 << 10

	// maxStored is the size of the longest frame: incompressible bytes, 3 bytes
	// of overhead for each block, and the frame's header and checksum.
	maxStored = BlockBytes + BlockBytes/(64<<10)*3 + 64

	// mostMerged is the most bytes of the source file that a merged record covers.
	mostMerged = 256 << 20

	// maxName is the longest name of a stream in bytes.
	maxName = 255

	// maxRuns and maxHead follow from MinRest: every run but the last has at least
	// MinRest bytes.
	maxRuns = BlockBytes/MinRest + 1
	maxRun  = 2*binary.MaxVarintLen32 + 1 + ul.NumLevels*binary.MaxVarintLen32
	maxHead = headerBytes + maxName + maxRuns*maxRun

	// maxOffset bounds offsets and sums of bytes, so that sums of them cannot overflow.
	maxOffset = 1 << 56
)

// A Part is one of the two payloads of a record.
type Part int

// The parts.
const (
	Kept Part = iota // lines at or above --keep-level, and short stretches between them
	Rest
)

// state is the state of a part.
type state byte

const (
	stored state = iota
	discarded
	dropped
)

// gone returns the state of a part that was dropped for a reason.
func gone(why ul.Reason) state {
	if why == ul.Discard {
		return discarded
	}
	return dropped
}

// part is one payload as the header describes it.
type part struct {
	lines  [ul.NumLevels]uint32 // lines that begin in the part, see Block.Take
	raw    uint32               // bytes
	stored uint32               // bytes of its frame
	check  uint32               // CRC-32C of its frame
	state  state
}

// held reports whether the part still has its bytes.
func (p *part) held() bool { return p.raw > 0 && p.state == stored }

// A Record is a block of one source file that was moved into the log. Its
// exported fields never change.
type Record struct {
	Of     position.Content
	Stream string
	From   int64             // where the block begins
	End    position.Position // the end of the block

	first, last time.Time // when the first and the last line were read
	sum         *ul.Gap   // the gap once Kept is gone; nil: that of the lines in Kept
	parts       [2]part

	seq  uint64
	at   int64 // where the record begins in the log
	head int64 // bytes of its head
	runs int   // number of runs
}

// Holds reports whether the part still has lines.
func (r *Record) Holds(p Part) bool { return r.parts[p].held() }

// settled reports whether r has no lines left to discard.
func (r *Record) settled() bool { return !r.Holds(Rest) }

// Empty reports whether only the counts of the record are left.
func (r *Record) Empty() bool { return !r.Holds(Kept) && !r.Holds(Rest) }

// Lines returns the lines in a part, by level, and their bytes.
func (r *Record) Lines(p Part) (lines [ul.NumLevels]uint32, bytes uint32) {
	return r.parts[p].lines, r.parts[p].raw
}

// Gap returns the lines that were dropped from the record so far.
func (r *Record) Gap() ul.Gap {
	var g ul.Gap
	if !r.Holds(Kept) {
		g.Add(r.keptGap())
	}
	if rest := &r.parts[Rest]; rest.state != stored {
		g.Add(r.gapOf(rest.lines, rest.raw, rest.state))
	}
	return g
}

// keptGap returns the gap for the part Kept once it is gone. For a marker in the part, the gap
// counts the lines that the marker counts, but not the marker itself.
func (r *Record) keptGap() ul.Gap {
	if r.sum != nil {
		return *r.sum
	}
	kept := &r.parts[Kept]
	return r.gapOf(kept.lines, kept.raw, dropped)
}

// Lost returns how many bytes of the source file the record has lost: the bytes of its dropped
// lines.
func (r *Record) Lost() (n int64) {
	if r.Empty() {
		return r.End.Offset - r.From
	}
	for p := range r.parts {
		if !r.Holds(Part(p)) {
			n += int64(r.parts[p].raw)
		}
	}
	return n
}

// gapOf returns the gap for dropped lines of the record.
func (r *Record) gapOf(lines [ul.NumLevels]uint32, bytes uint32, s state) ul.Gap {
	g := ul.Gap{Bytes: uint64(bytes), First: r.first, Last: r.last}
	why := ul.Discard
	if s == dropped {
		why = ul.DropAll
	}
	for level, n := range lines {
		g.Lines[why][level] = uint64(n)
	}
	return g
}

// place returns the offsets of a part in the log, rounded to whole pages.
func (r *Record) place(p Part) (from, to int64) {
	from = r.at + position.PageAfter(r.head)
	if p == Rest {
		from += position.PageAfter(int64(r.parts[Kept].stored))
	}
	return from, from + position.PageAfter(int64(r.parts[p].stored))
}

// end returns where the record ends in the log.
func (r *Record) end() int64 {
	_, to := r.place(Rest)
	return to
}

const (
	magic       = "ullspool"
	headerBytes = 276
	atCheck     = 8
	atState     = 12
	atChecked   = 16
	atHead      = 52
)

// appendHead appends the head of a record with these runs.
func (r *Record) appendHead(b []byte, runs []run) []byte {
	le := binary.LittleEndian
	begin := len(b)
	b = append(b, magic...)
	b = append(b, 0, 0, 0, 0, byte(r.parts[Kept].state), byte(r.parts[Rest].state), 0, 0)
	b = le.AppendUint64(b, r.seq)
	b = le.AppendUint64(b, r.Of.Dev)
	b = le.AppendUint64(b, r.Of.Ino)
	b = le.AppendUint64(b, uint64(r.Of.Born))
	b = le.AppendUint32(b, r.Of.Epoch)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(r.From))
	b = le.AppendUint64(b, uint64(r.End.Offset))
	b = le.AppendUint32(b, r.End.Check)
	b = append(b, byte(r.End.CheckLen), flag(r.End.Open), byte(r.End.Level), byte(len(r.Stream)))
	b = le.AppendUint64(b, uint64(r.first.UnixNano()))
	b = le.AppendUint64(b, uint64(r.last.UnixNano()))
	var sum ul.Gap
	if r.sum != nil {
		sum = *r.sum
	}
	for _, lines := range sum.Lines {
		for _, n := range lines {
			b = le.AppendUint64(b, n)
		}
	}
	b = le.AppendUint64(b, sum.Bytes)
	for i := range r.parts {
		p := &r.parts[i]
		for _, n := range p.lines {
			b = le.AppendUint32(b, n)
		}
		b = le.AppendUint32(b, p.raw)
		b = le.AppendUint32(b, p.stored)
		b = le.AppendUint32(b, p.check)
	}
	b = le.AppendUint32(b, uint32(len(runs)))
	b = append(b, r.Stream...)
	for i := range runs {
		b = runs[i].append(b)
	}
	r.head, r.runs = int64(len(b)-begin), len(runs)
	le.PutUint32(b[begin+atHead:], uint32(r.head))
	le.PutUint32(b[begin+atCheck:], position.Checksum(b[begin+atChecked:]))
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

var errRecord = errors.New("not a record of the spool")

// headLength returns the length of the head that begins with header, or an
// error if header does not begin a head.
func headLength(header []byte) (int, error) {
	if len(header) < headerBytes || string(header[:len(magic)]) != magic {
		return 0, errRecord
	}
	n := int(binary.LittleEndian.Uint32(header[atHead:]))
	if n < headerBytes || n > maxHead {
		return 0, errRecord
	}
	return n, nil
}

// parseHead reads a whole head. [parseRuns] reads the runs in it.
func parseHead(b []byte) (*Record, error) {
	if n, err := headLength(b); err != nil || n != len(b) {
		return nil, errRecord
	}
	le := binary.LittleEndian
	if le.Uint32(b[atCheck:]) != position.Checksum(b[atChecked:]) {
		return nil, errRecord
	}
	r := &Record{
		Of: position.Content{
			Identity: position.Identity{Dev: le.Uint64(b[24:]), Ino: le.Uint64(b[32:]), Born: int64(le.Uint64(b[40:]))},
			Epoch:    le.Uint32(b[48:]),
		},
		From:  int64(le.Uint64(b[56:])),
		End:   position.Position{Offset: int64(le.Uint64(b[64:])), Check: le.Uint32(b[72:]), CheckLen: int(b[76]), Open: b[77] == 1, Level: ul.Level(b[78])},
		first: time.Unix(0, int64(le.Uint64(b[80:]))),
		last:  time.Unix(0, int64(le.Uint64(b[88:]))),
		seq:   le.Uint64(b[16:]),
		head:  int64(len(b)),
		runs:  int(le.Uint32(b[272:])),
	}
	sum := ul.Gap{First: r.first, Last: r.last}
	at := 96
	for why := range sum.Lines {
		for level := range sum.Lines[why] {
			sum.Lines[why][level] = le.Uint64(b[at:])
			at += 8
		}
	}
	if sum.Bytes = le.Uint64(b[at:]); sum.Bytes > 0 || sum.Total() > 0 {
		r.sum = &sum
	}
	at += 8
	for i := range r.parts {
		p := &r.parts[i]
		for level := range p.lines {
			p.lines[level] = le.Uint32(b[at:])
			at += 4
		}
		p.raw, p.stored, p.check = le.Uint32(b[at:]), le.Uint32(b[at+4:]), le.Uint32(b[at+8:])
		p.state = state(b[atState+i])
		at += 12
	}
	name := int(b[79])
	if headerBytes+name > len(b) {
		return nil, errRecord
	}
	r.Stream = string(b[headerBytes : headerBytes+name])
	return r, r.check()
}

// check returns an error if the numbers of a record that was read are out of
// bounds.
func (r *Record) check() error {
	size := r.End.Offset - r.From
	raw := int64(r.parts[Kept].raw) + int64(r.parts[Rest].raw)
	most := int64(BlockBytes)
	if r.settled() {
		most = mostMerged
	}
	switch {
	case r.From < 0 || size <= 0 || r.End.Offset > maxOffset:
	case !r.End.Valid() || r.End.CheckLen != position.Span(r.End.Offset):
	case raw > most || raw != size && (r.sum == nil || raw > 0):
	case r.sum != nil && (raw > 0 && r.parts[Kept].raw == 0 || r.sum.Total() > r.sum.Bytes || r.sum.Bytes > maxOffset):
	case r.runs < 0 || r.runs > maxRuns:
	case !r.parts[Kept].valid() || !r.parts[Rest].valid():
	default:
		return nil
	}
	return errRecord
}

func (p *part) valid() bool {
	lines := uint64(0)
	for _, n := range p.lines {
		lines += uint64(n)
	}
	return p.state <= dropped && lines <= uint64(p.raw) && p.stored <= maxStored && (p.stored == 0 || p.raw > 0) &&
		(p.raw <= BlockBytes || !p.held())
}

// Dropped returns why the lines of a part were dropped. gone is false if they were not dropped.
func (r *Record) Dropped(p Part) (why ul.Reason, gone bool) {
	switch r.parts[p].state {
	case discarded:
		return ul.Discard, true
	case dropped:
		return ul.DropAll, true
	}
	return 0, false
}

// Memory returns how many bytes of memory the record uses in the log.
func (r *Record) Memory() int64 {
	sum := position.PageAfter(r.head)
	for p := range r.parts {
		if r.Holds(Part(p)) {
			sum += position.PageAfter(int64(r.parts[p].stored))
		}
	}
	return sum
}
