package ship

// marks derives the pressure from the used share of the budget. The zero value has no
// pressure, and its marks must be set.
type marks struct {
	spoolAt, discardAt, dropAt float64 // shares of the budget

	spooling   bool // lines are moved into the spool
	discarding bool // lines below the level to keep are dropped
	dropping   bool // lines of all levels are dropped if nothing else frees memory
}

// slack is how far below its mark each kind of pressure ends, as a share of the budget. It
// costs few lines and keeps the JVMs from reaching the mark again at once.
const slack = 1. / 24

// take sets the pressure from the used share of the budget.
func (m *marks) take(used float64) {
	past := func(on bool, mark float64) bool { return used > mark || on && used > mark-slack }
	m.spooling = past(m.spooling, m.spoolAt)
	m.discarding = past(m.discarding, m.discardAt)
	m.dropping = past(m.dropping, m.dropAt)
}

// low returns the share down to which memory is freed.
func (m *marks) low() float64 {
	switch {
	case m.dropping:
		return m.dropAt - slack
	case m.discarding:
		return m.discardAt - slack
	}
	return m.spoolAt - slack
}

// urgent returns the share above which there is no time to compress lines before the JVMs have no
// room.
func (m *marks) urgent() float64 { return (1 + m.dropAt) / 2 }

// reset ends all pressure.
func (m *marks) reset() { m.spooling, m.discarding, m.dropping = false, false, false }

// on reports whether there is any pressure.
func (m *marks) on() bool { return m.spooling || m.discarding || m.dropping }
