package lab

import "bytes"

// truth generates the lines of a file again, from the records of its seed and the writer's losses.
type truth struct {
	records *Records
	total   uint64 // records that were attempted
	losses  []Loss // the losses that have not been reached yet

	rest  []byte // the unread bytes of the current record that are in the file
	level Level
	loose bool
	next  uint64 // number of the line with which rest begins
	held  []byte // a cut line, to which the next line is glued
	glued int    // places where a record begins inside a cut line
	line  []byte
}

// physical is one line of a file, as a reader sees it.
type physical struct {
	text   []byte // with its newline, valid until the next read
	number uint64 // the number of the line that ends here
	level  Level  // the level of that line
	// loose is set for a line that begins with a cut line, and for later lines of its record: the header is not
	// where a reader expects it, so the reader may see a wrong level.
	loose bool
}

func newTruth(r FloodReport) *truth {
	return &truth{records: NewRecords(r.Seed), total: r.Records, losses: r.Losses}
}

// read returns the next line. After the last line, it returns false, and held is the end of the file that has no
// newline, if any.
func (t *truth) read() (physical, bool) {
	for {
		end := bytes.IndexByte(t.rest, '\n') + 1
		if end > 0 {
			text := t.rest[:end]
			if len(t.held) > 0 {
				t.line = append(append(t.line[:0], t.held...), text...)
				text, t.held, t.loose = t.line, t.held[:0], true
			}
			t.rest = t.rest[end:]
			t.next++
			return physical{text, t.next - 1, t.level, t.loose}, true
		}
		t.held = append(t.held, t.rest...)
		if t.records.Count() >= t.total {
			t.rest = nil
			return physical{}, false
		}
		t.load()
	}
}

// load loads the next record.
func (t *truth) load() {
	index := t.records.Count()
	t.next, t.loose = t.records.Lines(), false
	t.rest, t.level = t.records.Next()
	if len(t.losses) > 0 && t.losses[0].Record == index {
		t.lose(t.losses[0])
		t.losses = t.losses[1:]
	}
	if len(t.held) > 0 && len(t.rest) > 0 {
		t.glued++
	}
}

// lose removes the bytes of the current record that are not in the file and skips the lost records
// after it.
func (t *truth) lose(loss Loss) {
	t.rest = t.rest[:loss.Written]
	if loss.Records > 1 {
		t.rest = bytes.Clone(t.rest) // the template itself must not change
		for range loss.Records - 1 {
			t.records.Next()
		}
	}
}

// Glued returns at how many places in the file a record begins inside a line that was cut by a full tmpfs. A
// record that was cut at the end of a line is not counted, because a reader cannot see such a loss.
func (r FloodReport) Glued() int {
	t := newTruth(r)
	for more := true; more; {
		_, more = t.read()
	}
	return t.glued
}
