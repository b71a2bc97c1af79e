package sum

import (
	"maps"
	"slices"
)

// maxCells bounds the number of points of one kind. A screen does not have more columns.
const maxCells = 1200

// thin keeps the largest point of each span of time, whatever the order of the points. When
// there are too many spans, it doubles their length. The zero value is not ready to use; use
// newThin.
type thin struct {
	width int64 // of a span, in ns
	cells map[int64]cell
}

// cell is the largest point of a span, with the number of points in the span.
type cell struct {
	at    int64
	value float64
	n     int
}

func newThin() *thin { return &thin{width: 1e6, cells: map[int64]cell{}} }

func (t *thin) add(at int64, value float64) {
	t.put(cell{at: at, value: value, n: 1})
	for len(t.cells) > maxCells {
		all := t.cells
		t.width *= 2
		t.cells = make(map[int64]cell, len(all))
		for _, c := range all {
			t.put(c)
		}
	}
}

func (t *thin) put(c cell) {
	key := c.at / t.width
	if c.at < 0 {
		key--
	}
	old, ok := t.cells[key]
	if ok {
		n := old.n + c.n
		if old.value > c.value || old.value == c.value && old.at <= c.at { // the result does not depend on the order
			c = old
		}
		c.n = n
	}
	t.cells[key] = c
}

// points returns the points in chronological order.
func (t *thin) points() []cell {
	return slices.SortedFunc(maps.Values(t.cells), func(a, b cell) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
}
