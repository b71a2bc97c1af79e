package ring

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// enter makes e the last entry. After that, the step must be finished.
func (d *drain) enter(e *entry, lines []byte) error {
	if d.text == nil && len(lines) > 0 {
		t, size, err := takeText(d.calls, d.source, d.name)
		if err != nil {
			return err
		}
		d.text, d.last.text, d.last.end = t, t.id, size
		e.text, e.base = t.id, size
	}
	e.end = e.base + int64(len(lines))
	if d.journal == nil {
		j, err := createJournal(d.calls, d.state, d.name, e)
		if err != nil {
			return journalError(err)
		}
		d.journal = j
	} else if err := d.journal.save(e); err != nil {
		return journalError(err)
	}
	d.last, d.owed = *e, true
	return nil
}

func journalError(err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return &Error{reasonRoom, err}
	}
	return &Error{reasonJournal, err}
}

// finish finishes the last entry's step: append, zero, head.
func (d *drain) finish(lines []byte) error {
	if len(lines) > 0 {
		if err := d.text.append(lines, d.last.end-int64(len(lines))); err != nil {
			return err
		}
	}
	return d.giveBack()
}

// giveBack lets the JVM claim the bytes of the last entry again, unless the JVM is gone or the ring is
// abandoned. If setHead fails, the JVM may still have seen the new head, so the bytes are not zeroed
// again.
func (d *drain) giveBack() error {
	e := &d.last
	if e.pos == e.to && e.from < e.to && !e.abandoned && !d.gone {
		if d.freed < e.to {
			if err := d.file.zero(e.from, e.to); err != nil {
				return err
			}
			d.freed = e.to // must be set before the JVM can see the new head
		}
		if err := d.file.setHead(e.to); err != nil {
			return err
		}
	}
	d.owed = false
	return nil
}

// settle finishes a step that was interrupted by an error or by the end of an earlier process.
// If the text of the step is complete, its bytes in the ring may already be zeros.
func (d *drain) settle() error {
	e := &d.last
	if d.text == nil || e.end == e.base {
		return d.giveBack()
	}
	size, _, err := d.text.stat()
	if err != nil {
		return err
	}
	if size >= e.end {
		return d.giveBack()
	}
	lines, err := d.again()
	if err != nil {
		return err
	}
	if int64(len(lines)) != e.end-e.base || size < e.base {
		return d.mismatch(size)
	}
	return d.finish(lines[size-e.base:])
}

// again renders the records of the last entry again.
func (d *drain) again() ([]byte, error) {
	e := &d.last
	if e.to-e.from > min(d.file.span(e.from), blockBytes) {
		return nil, nil // no step takes that many bytes
	}
	d.reserve()
	b := d.block[:e.to-e.from]
	if err := d.file.data(b, e.from); err != nil {
		return nil, err
	}
	var t tally
	_, lines := d.lineUp(b, e, &t)
	return e.gap.AppendMarker(lines), nil
}

// mismatch ends a step whose bytes in the ring or in the text were changed by another process. The
// missing lines of the step are lost. The next step begins at the end of the text.
func (d *drain) mismatch(size int64) error {
	d.metrics.errors.WithLabelValues(reasonChanged).Inc()
	var last [1]byte
	if size > 0 && d.text.read(int(d.text.f.Fd()), last[:], size-1) == nil && last[0] != '\n' {
		if err := d.text.append([]byte{'\n'}, size); err != nil {
			return err
		}
		size++
	}
	e := d.next()
	e.from, e.base, e.end = d.last.from, size, size
	if err := d.journal.save(&e); err != nil {
		return journalError(err)
	}
	d.last = e
	return d.giveBack()
}

// over reports whether the ring was read to its end and no longer has a writer: the JVM is gone, or has
// returned the ring.
func (d *drain) over() bool {
	return (d.gone || d.control.closed) && !d.owed && d.last.pos == d.control.tail && d.due.gap.Total() == 0 && d.last.lates == 0
}

// remove unlinks a ring that is finished, and then its journal. A journal without a ring has no
// meaning.
func (d *drain) remove() error {
	dir := int(d.source.Fd())
	var st unix.Statx_t
	err := unix.Statx(dir, d.name.ring(), unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == nil && position.Identify(&st) == d.file.id {
		if err := d.unlink(dir, d.name.ring()); err != nil && err != unix.ENOENT {
			return fmt.Errorf("unlink ring: %w", err)
		}
	}
	if d.journal != nil {
		if err := d.unlink(int(d.state.Fd()), d.name.journal()); err != nil && err != unix.ENOENT {
			return fmt.Errorf("unlink journal: %w", err)
		}
	}
	return nil
}
