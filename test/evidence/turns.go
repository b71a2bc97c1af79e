package main

import (
	"fmt"
	"math/rand/v2"
)

// entry has the name of a row and the function that measures it, once in each round.
type entry struct {
	name string
	run  func() (figures, error)
}

// inTurn runs each entry once in a round, in random order, so that no entry has the same predecessor in every round:
// a predecessor may leave a warm cache, a busy disk or a warm processor. The rows are in the order of the entries.
func (e *evidence) inTurn(x *experiment, entries []entry) error {
	return e.quiet.inTurn(x, e.rounds, entries)
}

func (q *quiet) inTurn(x *experiment, rounds int, entries []entry) error {
	for _, one := range entries {
		x.row(one.name)
	}
	return q.eachRound(rounds, func() error {
		for _, i := range rand.Perm(len(entries)) {
			err := q.measured(x, func() ([]result, error) {
				f, err := entries[i].run()
				return []result{{entries[i].name, f}}, err
			})
			if err != nil {
				return fmt.Errorf("%s: %s: %w", x.Title, entries[i].name, err)
			}
		}
		return nil
	})
}

// eachRound calls run once for each round. Before each round, it waits for a quiet machine. It ends if the run is
// interrupted.
func (q *quiet) eachRound(rounds int, run func() error) error {
	for round := range rounds {
		if err := q.await(); err != nil {
			return err
		}
		fmt.Printf("  round %d of %d\n", round+1, rounds)
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// result has the figures that were measured for a row.
type result struct {
	name    string
	figures figures
}

// measured adds the results of run to the experiment. If the measurement is disturbed, it is
// repeated.
func (q *quiet) measured(x *experiment, run func() ([]result, error)) error {
	var got []result
	n, err := q.undisturbed(x, func() (err error) {
		got, err = run()
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range got {
		n.enter(r.figures)
		x.add(r.name, r.figures)
	}
	return nil
}

// entriesOf returns an entry for each contestant. Each entry measures its contestant by a call of run.
func entriesOf(contestants []*contestant, run func(*contestant) (figures, error)) (all []entry) {
	for _, c := range contestants {
		all = append(all, entry{c.name, func() (figures, error) { return run(c) }})
	}
	return all
}
