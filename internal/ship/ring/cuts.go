package ring

import (
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
)

// markPause is the shortest time between two marks about the cut records of a ring.
const markPause = time.Minute

// cuts reports, in marks, how many records lack a part.
type cuts struct {
	mark func(mark.Mark)
	of   map[name]*cut // only rings that had such a record
}

// cut describes the cut records of one ring.
type cut struct {
	records uint64    // that no mark reports yet
	marked  time.Time // when a mark was last written
}

// add counts records of a ring.
func (c *cuts) add(n name, records uint64) {
	if c.of[n] == nil {
		c.of[n] = &cut{}
	}
	c.of[n].records += records
}

// report writes the marks that are due.
func (c *cuts) report(now time.Time) {
	for n, of := range c.of {
		if of.records > 0 && now.Sub(of.marked) >= markPause {
			c.write(n, of)
			of.marked = now
		}
	}
}

// end reports the remaining cut records of a ring in a mark and forgets the ring.
func (c *cuts) end(n name) {
	if of := c.of[n]; of != nil && of.records > 0 {
		c.write(n, of)
	}
	delete(c.of, n)
}

func (c *cuts) write(n name, of *cut) {
	c.mark(mark.New(mark.RecordsCut, "stream", naming.StreamOf(n.text()), "count", strconv.FormatUint(of.records, 10)))
	of.records = 0
}
