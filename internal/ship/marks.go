package ship

import "github.com/ullage/ullage/internal/line/ul"

// marks is which share of the budget is in use, and what follows from it. The zero
// value has no pressure and needs its marks.
type marks struct {
	spoolAt, discardAt, dropAt float64 // shares of the budget

	spooling   bool // lines are moved into the spool
	discarding bool // lines below the level to keep go
	dropping   bool // all lines go
}

// slack is how far below its mark each of them ends, as a share of the budget.
// Little is lost for it, and the JVMs do not reach the mark at once again.
const slack = 1. / 24

// take sets what is under pressure from the share of the budget in use.
func (m *marks) take(used float64) {
	past := func(on bool, mark float64) bool { return used > mark || on && used > mark-slack }
	m.spooling = past(m.spooling, m.spoolAt)
	m.discarding = past(m.discarding, m.discardAt)
	m.dropping = past(m.dropping, m.dropAt)
}

// low is the target share.
func (m *marks) low() float64 {
	switch {
	case m.dropping:
		return m.dropAt - slack
	case m.discarding:
		return m.discardAt - slack
	}
	return m.spoolAt - slack
}

// reset forgets what was under pressure.
func (m *marks) reset() { m.spooling, m.discarding, m.dropping = false, false, false }

// on reports whether anything is to be done.
func (m *marks) on() bool { return m.spooling || m.discarding || m.dropping }

// reason is the one for which lines are dropped now, as text, or nothing.
func (m *marks) reason() string {
	switch {
	case m.dropping:
		return ul.DropAll.String()
	case m.discarding:
		return ul.Discard.String()
	}
	return ""
}
