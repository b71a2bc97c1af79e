package main

import (
	"fmt"
	"math/rand/v2"
)

// entry is what runs once a round: the name of its row, and how to measure it.
type entry struct {
	name string
	run  func() (figures, error)
}

// inTurn runs each entry once a round, in another order each time: what runs before may leave
// a cache, a full disk or a warm processor, and no entry shall have the same before it in
// every round. The rows are in the order of the entries.
func (e *evidence) inTurn(x *experiment, entries []entry) error {
	for _, one := range entries {
		x.row(one.name)
	}
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		for _, i := range rand.Perm(len(entries)) {
			f, err := entries[i].run()
			if err != nil {
				return fmt.Errorf("%s: %s: %w", x.Title, entries[i].name, err)
			}
			x.add(entries[i].name, f)
		}
	}
	return nil
}

// entriesOf returns an entry for each contestant, all measured in the same way.
func entriesOf(contestants []*contestant, run func(*contestant) (figures, error)) (all []entry) {
	for _, c := range contestants {
		all = append(all, entry{c.name, func() (figures, error) { return run(c) }})
	}
	return all
}
