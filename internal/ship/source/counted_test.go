package source

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/test/lab"
)

// gluedFile makes the log of a JVM in which a full tmpfs cuts a record at the end of about every
// second page. The cut record is glued to a later one. glued is the number of these places.
func gluedFile(rng *rand.Rand, records *lab.Records) (file []byte, glued int) {
	cut := false
	for range 2000 {
		record, _ := records.Next()
		if cut {
			glued++
		}
		page := position.PageAfter(int64(len(file)) + 1)
		file = append(file, record...)
		if cut = int64(len(file)) > page && rng.IntN(2) == 0; !cut {
			continue
		}
		file = file[:page]
		cut = file[page-1] != '\n'
		for range rng.IntN(5) {
			records.Next() // the whole record is lost
		}
	}
	return file, glued
}

// Wherever one read ends and the next begins, TakeCuts counts exactly the places at which a record
// begins inside a cut line. A read may also end inside a line, at the end of a page.
func TestEachGluedLineIsCountedWhereverLinesAreReadApart(t *testing.T) {
	sum := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		file, want := gluedFile(rng, lab.NewRecords(seed))
		sum += want
		var c Counted
		got, open := 0, false
		for at := 0; at < len(file); {
			end := min(len(file), at+1+rng.IntN(3*position.PageSize))
			if rng.IntN(2) == 0 {
				end = min(len(file), int(position.PageAfter(int64(end))))
			} else if rest := bytes.IndexByte(file[end-1:], '\n'); rest >= 0 {
				end += rest
			}
			n, _ := c.TakeCuts(file[at:end], int64(at), open)
			got, open, at = got+n, file[end-1] != '\n', end
		}
		if got != want {
			t.Errorf("seed %d: %d places were counted, want %d", seed, got, want)
		}
	}
	if sum < 1000 {
		t.Errorf("%d lines were glued, too few for this test", sum)
	}
}

// A record of any kind is cut at each of its bytes.
func TestARecordCutAtAnyByteIsCounted(t *testing.T) {
	records := lab.NewRecords(1)
	before, _ := records.Next()
	before = bytes.Clone(before)
	for range 500 {
		record, _ := records.Next()
		record = bytes.Clone(record)
		next, _ := records.Next()
		for at := 1; at < len(record); at++ {
			want := 1
			if record[at-1] == '\n' {
				want = 0 // a cut between two lines of a record does not show
			}
			text := slices.Concat(before, record[:at], next)
			offset := position.PageAfter(int64(len(before)+at)) - int64(len(before)+at)
			var c Counted
			if n, _ := c.TakeCuts(text, offset, false); n != want {
				t.Fatalf("%d places were counted in %q, want %d", n, text, want)
			}
		}
	}
}
