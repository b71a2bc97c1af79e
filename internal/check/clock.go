package check

import (
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// clock finds the time of the records of one stream. A record without a date has the
// start of its JVM's run and its uptime. What opens a segment was written before the
// segment was created, so the run started no later than that time less the uptime; the
// earliest start that any segment gives is the best one. Before its first segment, a run
// started when the last record of the run before was written.
type clock struct {
	runs    ul.Runs
	start   time.Time // of the run; zero: unknown
	guessed bool      // start is the end of the run before
	exact   bool      // start is from a record with date and uptime
	created time.Time // of the segment whose first record with an uptime has not come yet
	last    time.Time // the time of the last record that has one
	rough   bool      // ... is estimated
}

// segment says that a segment begins that was created at a time.
func (c *clock) segment(created time.Time) { c.created = created }

// take receives a record, and reports whether it is the first of a run.
func (c *clock) take(r *ul.Record) (begins bool) {
	up, hasUp := r.Since()
	when, dated := r.When()
	if hasUp {
		if begins = c.runs.Next(up); begins {
			c.start, c.guessed, c.exact = c.last, true, false
		}
		c.point(up)
	}
	switch {
	case dated:
		c.last, c.rough = when, false
		if hasUp {
			c.start, c.exact = when.Add(-up), true
		}
	case hasUp && !c.start.IsZero():
		c.last, c.rough = c.start.Add(up), !c.exact
	}
	return begins
}

// dated says that a record, which is not of a JVM's own log, has a time, if ok.
func (c *clock) dated(when time.Time, ok bool) {
	if ok {
		c.last, c.rough = when, false
	}
}

// point takes the first uptime in a segment as a bound of the run's start.
func (c *clock) point(up time.Duration) {
	if c.created.IsZero() {
		return
	}
	start := c.created.Add(-up)
	if !c.exact && (c.guessed || c.start.IsZero() || start.Before(c.start)) {
		c.start, c.guessed = start, false
	}
	c.created = time.Time{}
}
