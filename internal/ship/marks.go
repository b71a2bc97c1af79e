package ship

import "github.com/ullage/ullage/internal/line/ul"

// marks decides from the used share of the budget what the pressure is. The zero value has no
// pressure and needs its marks.
type marks struct {
	spoolAt, discardAt, dropAt float64 // shares of the budget

	spooling   bool // lines are moved into the spool
	discarding bool // lines below the level to keep are dropped
	dropping   bool // all lines are dropped
}

// slack is how far below its mark each kind of pressure ends, as a share of the budget. It
// costs few lines, and the JVMs do not reach the mark again at once.
const slack = 1. / 24

// take sets the pressure from the used share of the budget.
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

// reset ends all pressure.
func (m *marks) reset() { m.spooling, m.discarding, m.dropping = false, false, false }

// on reports whether there is any pressure.
func (m *marks) on() bool { return m.spooling || m.discarding || m.dropping }

// reason returns why lines are dropped now, as text, or "" if they are not.
func (m *marks) reason() string {
	switch {
	case m.dropping:
		return ul.DropAll.String()
	case m.discarding:
		return ul.Discard.String()
	}
	return ""
}
