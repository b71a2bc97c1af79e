package ring

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// An entry is one step of a drain: the records between from and to in the ring, and a marker of
// refused events, become the bytes between base and end in the text.
type entry struct {
	seq  uint64
	ring position.Identity
	text position.Identity // zero: there is no text yet

	pos       uint64 // reading continues here
	from, to  uint64
	base, end int64

	told counts // refused events in all markers up to end
	gap  ul.Gap // the gap of the marker that ends the step; zero: there is no marker

	// late has the claims in an abandoned ring that were skipped and may still be
	// completed. The entry leaves out records at late positions.
	late      [maxLate]uint64
	lates     int
	abandoned bool

	// clock is how far the wall clock was ahead of the monotonic clock at the last look. It is 0 if there was no
	// look, or if an earlier version wrote the entry. shift is how far the wall clock has been set since the
	// ring's first entry. The dates of this entry are shifted by it.
	clock, shift int64
}

// maxLate bounds the number of claims that are skipped in an abandoned ring. Each thread that was
// in the middle of an event has left one. If there are more, reading waits at the next claim.
const maxLate = 16

// isLate reports whether the record at a position was skipped.
func (e *entry) isLate(pos uint64) bool {
	for _, p := range e.late[:e.lates] {
		if p == pos {
			return true
		}
	}
	return false
}

// The journal is two slots in one page. An entry is written into the older slot, so that the
// other slot is valid at any moment.
const (
	journalMagic = 0x314A474E52474C55 // "ULGRNGJ1"
	slotBytes    = 1024
	journalBytes = 2 * slotBytes
)

// A journal is the open journal of a ring.
type journal struct {
	*calls
	f   *os.File
	seq uint64 // of the newest entry, which is in slot seq%2
}

// openJournal opens the journal of a name in the state directory and returns its newest
// entry. The error is fs.ErrNotExist if there is no journal.
func openJournal(c *calls, dir *os.File, n name) (*journal, entry, error) {
	f, err := statedir.OpenFile(dir, n.journal(), unix.O_RDWR)
	if err != nil {
		return nil, entry{}, fmt.Errorf("open journal: %w", err)
	}
	j := &journal{calls: c, f: f}
	var newest entry
	var b [slotBytes]byte
	for slot := range int64(2) {
		if err := j.read(int(f.Fd()), b[:], slot*slotBytes); err != nil {
			continue // the slot is torn, as after a kill during the first entry
		}
		if e, ok := decode(b[:]); ok && int64(e.seq%2) == slot && e.seq > newest.seq {
			newest = e
		}
	}
	if newest.seq == 0 {
		f.Close()
		return nil, entry{}, errJournal
	}
	j.seq = newest.seq
	return j, newest, nil
}

var errJournal = errors.New("open journal: it has no valid entry")

// createJournal makes a journal whose only entry is e. It first removes any file with that
// name.
func createJournal(c *calls, dir *os.File, n name, e *entry) (*journal, error) {
	statedir.Displace(dir, n.journal())
	f, err := statedir.OpenFile(dir, n.journal(), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	j := &journal{calls: c, f: f}
	if err := j.save(e); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// save writes e as the newest entry. Both slots share one page of memory, which the first
// entry allocates. So on a full tmpfs, only the first entry can fail.
func (j *journal) save(e *entry) error {
	e.seq = j.seq + 1
	var b [slotBytes]byte
	e.encode(b[:])
	if err := j.write(stepJournal, int(j.f.Fd()), b[:], int64(e.seq%2)*slotBytes); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.seq = e.seq
	return nil
}

// A slot consists of numbers of 8 bytes each, beginning with the magic number. It ends with a CRC-32C
// of everything before it.
type packer struct {
	b []byte
	n int
}

func (p *packer) put(v uint64) {
	le.PutUint64(p.b[p.n:], v)
	p.n += 8
}

func (p *packer) take() uint64 {
	v := le.Uint64(p.b[p.n:])
	p.n += 8
	return v
}

// fields calls each or signed for every number of e, in the order in which they are in the
// slot.
func (e *entry) fields(each func(*uint64), signed func(*int64)) {
	each(&e.seq)
	for _, id := range []*position.Identity{&e.ring, &e.text} {
		each(&id.Dev)
		each(&id.Ino)
		signed(&id.Born)
	}
	each(&e.pos)
	each(&e.from)
	each(&e.to)
	signed(&e.base)
	signed(&e.end)
	for r := range ul.NumReasons {
		for l := range ul.NumLevels {
			each(&e.told.lines[r][l])
			each(&e.gap.Lines[r][l])
		}
	}
	each(&e.told.bytes)
	each(&e.gap.Bytes)
	for i := range e.late {
		each(&e.late[i])
	}
}

func (e *entry) encode(b []byte) {
	clear(b)
	p := packer{b: b}
	p.put(journalMagic)
	e.fields(func(v *uint64) { p.put(*v) }, func(v *int64) { p.put(uint64(*v)) })
	p.put(nanos(e.gap.First))
	p.put(nanos(e.gap.Last))
	p.put(uint64(e.lates))
	p.put(bit(e.abandoned))
	p.put(uint64(e.clock))
	p.put(uint64(e.shift))
	le.PutUint32(b[slotBytes-4:], position.Checksum(b[:slotBytes-4]))
}

// decode parses a slot, which may have any content.
func decode(b []byte) (e entry, ok bool) {
	p := packer{b: b}
	if position.Checksum(b[:slotBytes-4]) != le.Uint32(b[slotBytes-4:]) || p.take() != journalMagic {
		return e, false
	}
	e.fields(func(v *uint64) { *v = p.take() }, func(v *int64) { *v = int64(p.take()) })
	e.gap.First, e.gap.Last = moment(p.take()), moment(p.take())
	lates, abandoned := p.take(), p.take()
	if lates > maxLate || abandoned > 1 {
		return e, false
	}
	e.lates, e.abandoned = int(lates), abandoned == 1
	e.clock, e.shift = int64(p.take()), int64(p.take())
	return e, e.from <= e.to && e.to-e.from <= maxCapacity && e.base >= 0 && e.base <= e.end && e.end-e.base <= mostText && e.pos%8 == 0 && e.from%8 == 0
}

// nanos treats the zero time separately, because it cannot be expressed in nanoseconds.
func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func moment(ns uint64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
