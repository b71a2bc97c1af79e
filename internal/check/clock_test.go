package check

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

func TestTheClockOfUndatedLines(t *testing.T) {
	created := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	type step struct {
		segment time.Duration // after created; negative: none begins here
		line    string
		want    time.Duration // after created
		rough   bool
	}
	for name, steps := range map[string][]step{
		"the segment bounds the start": {{0, "[5.000s][info][gc] x", 0, true}, {-1, "[7.000s][info][gc] x", 2 * time.Second, true}},
		"a later segment gives a better bound": {{0, "[5.000s][info][gc] x", 0, true},
			{10 * time.Second, "[18.000s][info][gc] x", 10 * time.Second, true}, {-1, "[18.500s][info][gc] x", 10500 * time.Millisecond, true}},
		"a later segment gives a worse bound": {{0, "[5.000s][info][gc] x", 0, true}, {time.Minute, "[6.000s][info][gc] x", time.Second, true}},
		"another JVM starts when the one before ended": {{0, "[50.000s][info][gc] x", 0, true}, {-1, "[60.000s][info][gc] x", 10 * time.Second, true},
			{-1, "[0.500s][info][gc] x", 10500 * time.Millisecond, true}},
		"... until a segment begins in it": {{0, "[50.000s][info][gc] x", 0, true}, {-1, "[0.500s][info][gc] x", 500 * time.Millisecond, true},
			{time.Minute, "[2.000s][info][gc] x", time.Minute, true}},
		"a date is exact": {{0, "[2026-11-20T09:59:00.000+0000][5.000s][info][gc] x", -time.Minute, false}, {-1, "[8.000s][info][gc] x", -57 * time.Second, false}},
	} {
		var c clock
		var r ul.Record
		for i, s := range steps {
			if s.segment >= 0 {
				c.segment(created.Add(s.segment))
			}
			r.Parse([]byte(s.line))
			c.take(&r)
			if got := c.last.Sub(created); got != s.want || c.rough != s.rough {
				t.Errorf("%s: record %d is at %s (rough: %v), want %s (%v)", name, i, got, c.rough, s.want, s.rough)
			}
		}
	}
}
