package main

import (
	"context"
	"fmt"
	"time"
)

const (
	calmFor     = 5 // consecutive seconds
	mostRepeats = 2 // of a measurement in a round
)

// quiet waits for a quiet machine and repeats disturbed measurements. The zero value does neither.
type quiet struct {
	ctx      context.Context // of the run; nil: it is never interrupted
	patience time.Duration   // for all waits of the run in total; 0: no waits and no repeats
	look     func() noted    // observes the next second; nil: thisMachine
	watch    func() (end func() noted)
	calm     calm
}

// await waits until the machine has been quiet for calmFor seconds, or until the patience is used up. It fails if the
// run is interrupted.
func (q *quiet) await() error {
	look := q.look
	if look == nil {
		look = thisMachine
	}
	for calm := 0; calm < calmFor && q.patience > 0; {
		if err := q.interrupted(); err != nil {
			return err
		}
		n := look()
		q.patience -= n.over
		if calm++; !n.calm() {
			calm = 0
			q.calm.Waited += n.over.Seconds()
			if int(q.calm.Waited)%10 == 1 {
				fmt.Printf("  waiting for a quiet machine: %s; %s more, at most\n", n, q.patience.Round(time.Second))
			}
			if q.patience <= 0 {
				q.calm.GaveUp = true
				fmt.Println("  the machine did not become quiet: measuring anyway")
			}
		}
	}
	return q.interrupted()
}

func (q *quiet) interrupted() error {
	if q.ctx == nil {
		return nil
	}
	return q.ctx.Err()
}

// undisturbed calls measure. It repeats the call up to mostRepeats times if other work has disturbed it. It
// returns the other work of the machine during the last call.
func (q *quiet) undisturbed(x *experiment, measure func() error) (noted, error) {
	watch := q.watch
	if watch == nil {
		watch = watchMachine
	}
	for attempt := 0; ; attempt++ {
		end := watch()
		err := measure()
		n := end()
		if err != nil || !n.disturbed() {
			return n, err
		}
		if attempt == mostRepeats || q.patience <= 0 {
			x.Kept++
			return n, nil
		}
		fmt.Printf("  disturbed; measuring again: %s\n", n)
		x.Repeated++
		if err := q.await(); err != nil {
			return n, err
		}
	}
}
