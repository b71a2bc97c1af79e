package ring

import (
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// abandonAfter is how long one claim may block a full ring before the JVM is asked to continue
// in another ring.
const abandonAfter = 10 * time.Second

// A tally counts what was found in the records of one step.
type tally struct {
	events [ul.NumLevels]uint64
	cut    [ul.NumLevels]uint64 // events among them that lack a part
	claims uint64               // claims that were never completed
	words  uint64               // bad words
}

// measure returns how many bytes of b can be taken: complete records, and claims for which
// reading need not wait. It adds the skipped claims of an abandoned ring to the entry.
func (d *drain) measure(b []byte, e *entry, t *tally) (n int) {
	for n < len(b) {
		pos := e.from + uint64(n)
		w := parseWord(le.Uint64(b[n:]), pos)
		fits := n+w.size <= len(b)
		if w.state == complete && fits {
			n += w.size
			continue
		}
		if n > 0 && !fits {
			break // the rest of the record is not in b
		}
		if !fits {
			w = word{state: bad} // the record would wrap around, or extends past the tail
		}
		if !d.mayPass(e, w, pos, t) {
			d.wait(pos, w.state)
			break
		}
		n += skip(b[n:], pos, w)
	}
	return n
}

// mayPass reports whether reading may pass over a word that is not complete.
func (d *drain) mayPass(e *entry, w word, pos uint64, t *tally) bool {
	switch {
	case !d.gone && !e.abandoned:
		return false
	case w.state == bad:
		t.words++
	case d.gone:
		t.claims++
	case e.lates == maxLate:
		return false
	default:
		e.late[e.lates] = pos
		e.lates++
	}
	return true
}

// skip returns how many bytes of b, which begins at pos with the word w, are not a complete record.
// A claim has its length in the word; before the word is written, the claim consists of zeros up to
// the next record. A bad word is followed by bytes of any kind, up to a word with a valid check.
func skip(b []byte, pos uint64, w word) int {
	if w.state == claimed && w.size <= len(b) {
		return w.size
	}
	for n := 8; n < len(b); n += 8 {
		next := le.Uint64(b[n:])
		if w.state == free && next != 0 || parseWord(next, pos+uint64(n)).state == complete {
			return n
		}
	}
	return len(b)
}

// wait records that reading waits at a word.
func (d *drain) wait(pos uint64, s state) {
	if d.blocked.pos == pos && d.blocked.state == s && !d.blocked.since.IsZero() {
		d.blocked.again = true
		return
	}
	d.blocked = blocked{pos: pos, state: s, since: d.looked}
}

// judge abandons a ring that cannot be read any further: two consecutive looks found the
// same bad word, or the ring is full after a claim that no thread completes.
func (d *drain) judge(now time.Time) error {
	w := d.blocked
	if d.last.abandoned || !w.again || w.pos != d.last.pos || w.pos == d.control.tail {
		return nil
	}
	full := d.control.tail-d.freed > d.file.capacity/2
	if w.state != bad && (!full || now.Sub(w.since) < abandonAfter) {
		return nil
	}
	if err := d.file.setFlag(abandonedAt, 1); err != nil {
		return err
	}
	e := d.next()
	e.abandoned = true
	if err := d.enter(&e, nil); err != nil {
		return err
	}
	d.owed = false
	reason := reasonStuck
	if w.state == bad {
		reason = reasonWord
	}
	return because(reason, "the ring is abandoned at %d, where reading has waited for %s", w.pos, now.Sub(w.since).Round(time.Millisecond))
}

// takeLate renders the first record that was skipped if a thread has completed it since.
// Otherwise, it counts a claim that was never completed.
func (d *drain) takeLate(e *entry) (lines []byte, t tally, err error) {
	pos := e.late[0]
	copy(e.late[:], e.late[1:])
	e.lates--
	e.late[e.lates] = 0
	d.reserve()
	b := d.block[:min(d.control.tail-pos, d.file.span(pos), uint64(recordSize(maxPayload)))]
	for range 2 {
		if err := d.file.data(b, pos); err != nil {
			return nil, t, err
		}
	}
	e.from, e.to = pos, pos+8
	w := parseWord(le.Uint64(b), pos)
	if w.state == complete && w.size <= len(b) {
		e.to = pos + uint64(w.size)
	} else {
		t.claims++
	}
	_, lines = d.lineUp(b[:e.to-e.from], e, &t)
	return lines, t, nil
}
