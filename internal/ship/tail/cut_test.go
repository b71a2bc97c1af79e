package tail

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/test/lab"
)

// A full tmpfs cuts a line at the end of a page, wherever that falls in the line, and the lines
// before it may have been read long ago.
func TestALineCutByAFullTmpfsIsCounted(t *testing.T) {
	line := func(second int, text string) string {
		return fmt.Sprintf("[2026-11-23T04:16:%02d.183+0000][%d.137s][26724][info ][gc,heap,exit   ] %s\n", second, second, text)
	}
	next := line(9, "next")
	for name, torn := range map[string]string{
		"in its message":                  line(1, "torn")[:74],
		"in its decorations":              line(1, "torn")[:11],
		"between its decorations":         line(1, "torn")[:30],
		"a further line":                  "  and its further li",
		"its first byte":                  line(1, "torn")[:1],
		"behind a line with further ones": line(1, "torn")[:40],
	} {
		for _, apart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, read apart: %v", name, apart), func(t *testing.T) {
				r := newRig(t)
				first := line(1, "first") + line(1, "of") + "  two lines\n"
				fill := position.PageSize - len(torn) - len(first)
				text := line(1, strings.Repeat("x", fill-len(line(1, "")))) + first + torn
				if len(text) != position.PageSize {
					t.Fatalf("%d bytes", len(text))
				}
				r.put("gc.log", text)
				if apart {
					r.read()
				}
				r.put("gc.log", next+line(9, "more"))
				r.read()
				m := &r.src.env.metrics
				if n := testutil.ToFloat64(m.jvmCut.WithLabelValues("gc.log")); n != 1 {
					t.Errorf("%v cut lines are counted", n)
				}
				if lost := testutil.ToFloat64(m.jvmLost.WithLabelValues("gc.log")); lost != 8 {
					t.Errorf("%v s are counted", lost)
				}
			})
		}
	}
}

// gluedFile makes a file of a JVM that a full tmpfs cuts at the end of every second page or so: the
// record that is cut is glued to one that comes later. Glued counts these places.
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
			records.Next() // lost whole
		}
	}
	return file, glued
}

// Wherever the lines are read apart, each place is counted where a record begins inside a line
// that was cut, and nothing else is. Also a piece of a line may end where a page ends.
func TestEachGluedLineIsCountedWhereverLinesAreReadApart(t *testing.T) {
	sum := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		file, want := gluedFile(rng, lab.NewRecords(seed))
		sum += want
		var c counted
		got, open := 0, false
		for at := 0; at < len(file); {
			end := min(len(file), at+1+rng.IntN(3*position.PageSize))
			if rng.IntN(2) == 0 {
				end = min(len(file), int(position.PageAfter(int64(end))))
			} else if rest := bytes.IndexByte(file[end-1:], '\n'); rest >= 0 {
				end += rest
			}
			n, _ := c.takeCuts(file[at:end], int64(at), open)
			got, open, at = got+n, file[end-1] != '\n', end
		}
		if got != want {
			t.Errorf("seed %d: %d places are counted, want %d", seed, got, want)
		}
	}
	if sum < 1000 {
		t.Errorf("%d lines were glued: the test shows nothing", sum)
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
				want = 0 // it is cut between two of its lines, which shows nowhere
			}
			text := slices.Concat(before, record[:at], next)
			offset := position.PageAfter(int64(len(before)+at)) - int64(len(before)+at)
			var c counted
			if n, _ := c.takeCuts(text, offset, false); n != want {
				t.Fatalf("%d places are counted in %q, want %d", n, text, want)
			}
		}
	}
}
