package ring

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// workspace is shared by the drains of one source.
type workspace struct {
	*calls
	metrics *metrics
	source  *os.File // the directory
	state   *os.File
	*buffers
}

// buffers holds the memory for steps. A process without events has none.
type buffers struct {
	block []byte // of blockBytes
	lines []byte
}

// A drain takes the events out of one ring and appends them to its text as lines.
type drain struct {
	*workspace
	name    name
	file    *file
	journal *journal // nil: nothing has been taken out yet
	text    *text    // nil: there are no lines yet
	render  renderer

	last  entry
	freed uint64 // the JVM may have claimed the bytes before this position again
	owed  bool   // the step of the last entry is not finished
	gone  bool   // no process writes the ring any more

	control control
	looked  time.Time
	due     drops
	blocked blocked
}

// drops are refused events of the ring that no marker has reported yet.
type drops struct {
	seen  counts
	place uint64 // of the marker
	gap   ul.Gap
}

// blocked describes the word at which reading waits.
type blocked struct {
	pos   uint64
	state state // free: just claimed, or reading is not waiting
	since time.Time
	again bool // the word was the same at an earlier look
}

// openDrain opens a ring. It continues at the journal's position, or at the head that an
// earlier process has set.
func openDrain(w *workspace, n name) (*drain, error) {
	f, err := openFile(w.calls, int(w.source.Fd()), n.ring())
	if err != nil {
		return nil, err
	}
	d := &drain{workspace: w, name: n, file: f, render: renderer{file: f, templates: templates{file: f}, ahead: wallAhead}}
	if err = d.begin(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *drain) begin() error {
	if err := d.file.checkMemory(); err != nil {
		return err
	}
	c, err := d.file.control()
	if err != nil {
		return err
	}
	j, e, err := openJournal(d.calls, d.state, d.name)
	if err == nil && e.ring == d.file.id {
		d.journal, d.last = j, e
		return d.resume(c)
	}
	if err == nil {
		j.f.Close() // the journal belongs to another ring that had the name
	}
	if !c.intact || !d.plausible(c.tail, c.head) {
		return because(reasonCursor, "the ring has head %d and tail %d, and no journal", c.head, c.tail)
	}
	if c.head != 0 || !errors.Is(err, fs.ErrNotExist) {
		d.metrics.errors.WithLabelValues(reasonJournal).Inc()
	}
	d.last = entry{ring: d.file.id, pos: c.head, from: c.head, to: c.head, clock: d.render.ahead()}
	d.freed = c.head
	return nil
}

// plausible reports whether a tail is possible for a ring whose bytes before freed were
// returned.
func (d *drain) plausible(tail, freed uint64) bool {
	return tail >= freed && tail-freed <= d.file.capacity && tail%8 == 0 && freed%8 == 0
}

// resume continues after an entry of an earlier process, whose step may or may not be
// finished.
func (d *drain) resume(c control) error {
	e := &d.last
	if d.freed = e.from; e.pos != e.to {
		d.freed = e.pos // the entry has a late record
	}
	d.owed = true
	if c.intact && c.head == e.pos {
		d.freed = e.pos
	}
	if e.text == (position.Identity{}) {
		return nil
	}
	t, err := openText(d.calls, d.source, d.name, 0)
	if err == nil && t.id == e.text {
		d.text = t
		return nil
	}
	if err == nil {
		t.close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The text was removed, with its unread lines.
	d.metrics.errors.WithLabelValues(reasonText).Inc()
	return nil
}

func (d *drain) close() {
	if d.journal != nil {
		d.journal.f.Close()
	}
	if d.text != nil {
		d.text.close()
	}
	d.file.close()
}

// step takes out complete records, about a block at most, and returns how many bytes of the
// ring it took. After an error, the drain is unchanged, and the next step tries again.
func (d *drain) step(now time.Time) (taken uint64, err error) {
	if d.owed {
		if err := d.settle(); err != nil {
			return 0, err
		}
	}
	if err := d.look(now); err != nil {
		return 0, err
	}
	e := d.next()
	e.anchor(d.render.ahead())
	lines, tally, err := d.take(&e)
	if err != nil {
		return 0, err
	}
	if d.due.gap.Total() > 0 && e.to >= d.due.place {
		e.gap, e.told = d.due.gap, d.due.seen
		lines = e.gap.AppendMarker(lines)
	}
	if e.from == e.to && e.gap.Total() == 0 {
		return 0, d.judge(now)
	}
	if err := d.enter(&e, lines); err != nil {
		return 0, err
	}
	d.metrics.count(d.name, &tally, &e)
	if e.gap.Total() > 0 {
		d.due = drops{}
	}
	return e.to - e.from, d.finish(lines)
}

// next returns an empty entry that follows the last one.
func (d *drain) next() entry {
	e := d.last
	e.from, e.to, e.base, e.gap = e.pos, e.pos, e.end, ul.Gap{}
	return e
}

// look reads the control block.
func (d *drain) look(now time.Time) error {
	c, err := d.file.control()
	if err != nil {
		return err
	}
	// d.freed moves before the JVM can see the new head, so the tail is at most the capacity past d.freed.
	if c.tail < d.last.pos || !d.plausible(c.tail, d.freed) {
		return because(reasonCursor, "the ring has tail %d, but it was read up to %d and freed up to %d", c.tail, d.last.pos, d.freed)
	}
	if d.due.gap.Total() == 0 {
		d.due = d.drops(c, now)
	}
	d.control, d.looked = c, now
	return nil
}

// drops returns the events that the ring has refused since the last marker. Their gap begins at the time of
// the previous look and ends now.
func (d *drain) drops(c control, now time.Time) drops {
	seen := c.dropped
	var gap ul.Gap
	for r := range seen.lines {
		for l, told := range d.last.told.lines[r] {
			seen.lines[r][l] = max(seen.lines[r][l], told)
			gap.Lines[r][l] = seen.lines[r][l] - told
		}
	}
	if gap.Total() == 0 {
		return drops{}
	}
	seen.bytes = max(seen.bytes, d.last.told.bytes)
	gap.Bytes = seen.bytes - d.last.told.bytes
	gap.First, gap.Last = d.looked, now
	if d.looked.IsZero() {
		gap.First = now
	}
	return drops{seen: seen, place: c.tail, gap: gap}
}

// take renders the complete records after the entry's position and stores in the entry where they
// end. The lines are valid until the next call.
func (d *drain) take(e *entry) (lines []byte, t tally, err error) {
	if e.lates > 0 && d.gone && e.pos == d.control.tail {
		return d.takeLate(e)
	}
	most := min(d.control.tail-e.pos, d.file.span(e.pos), blockBytes)
	if d.due.place > e.pos {
		most = min(most, d.due.place-e.pos)
	}
	if most == 0 {
		return d.lines[:0], t, nil
	}
	d.reserve()
	b := d.block[:most]
	if err := d.file.data(b, e.pos); err != nil {
		return nil, t, err
	}
	n := d.measure(b, e, &t)
	// The same bytes are read once more, so that every byte is read after the word that completes
	// its record.
	if err := d.file.data(b[:n], e.pos); err != nil {
		return nil, t, err
	}
	n, lines = d.lineUp(b[:n], e, &t)
	e.to, e.pos = e.from+uint64(n), e.from+uint64(n)
	return lines, t, nil
}

// reserve allocates the memory for rendering. A ring without events needs none.
func (d *buffers) reserve() {
	if d.block == nil {
		d.block, d.lines = make([]byte, blockBytes), make([]byte, 0, enoughText+64<<10)
	}
}

// lineUp renders the records in b, which begins at the entry's position, until it has enough text.
// It returns how many bytes of b it has rendered. The lines depend only on b and the entry, so
// that another process renders the same lines.
func (d *drain) lineUp(b []byte, e *entry, t *tally) (n int, lines []byte) {
	lines = d.lines[:0]
	d.render.shift = e.shift
	for n < len(b) && len(lines) < enoughText {
		pos := e.from + uint64(n)
		w := parseWord(le.Uint64(b[n:]), pos)
		if w.state != complete || n+w.size > len(b) {
			n += skip(b[n:], pos, w)
			continue
		}
		if w.kind != kindPad && !e.isLate(pos) {
			lines = d.render.record(lines, b[n:n+w.size], w)
			t.events[w.level]++
			if w.flags&flagCut != 0 {
				t.cut[w.level]++
			}
		}
		n += w.size
	}
	if cap(lines) <= mostText {
		d.lines = lines[:0]
	}
	return n, lines
}
