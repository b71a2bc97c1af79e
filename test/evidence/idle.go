package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// Resident memory goes up and down: a sidecar frees pages every five seconds.
const (
	memoryTitle  = "most memory, MiB"
	memoryMethod = "Memory is a process's own, without the page cache of its program; the most of samples ten times a second."
	memoryEvery  = 100 * time.Millisecond
)

// over measures a process for d.
func (e *evidence) over(s *shipper, d time.Duration) (figures, error) {
	used, err := lab.CPUTime(s.PID())
	if err != nil {
		return nil, err
	}
	woken := switches(s.PID())
	most := memory(s.PID())
	least := most
	sample := time.NewTicker(memoryEvery)
	defer sample.Stop()
	for end, over := time.After(d), false; !over; {
		select {
		case <-e.ctx.Done():
			return nil, e.ctx.Err()
		case <-sample.C:
			now := memory(s.PID())
			most, least = max(most, now), min(least, now)
		case <-end:
			over = true
		}
	}
	after, err := lab.CPUTime(s.PID())
	if err != nil {
		return nil, err
	}
	return figures{"cpu": (after - used).Seconds() / d.Seconds() * 100, "wakes": max(0, float64(switches(s.PID())-woken)/d.Seconds()), "rss": most, "least": least}, nil
}

// settled is the time from the start of an idle contestant to its measurement.
const settled = 20 * time.Second

// idle measures all contestants at the same time, while nothing happens.
func idle(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "idle", Title: "Idle, with five files", Plot: "cpu",
		Question: "What does a shipper cost while nothing is logged?",
		Method: fmt.Sprintf("Five files with 100 lines each are open and do not grow. All contestants run at the same time, each with files and, as in a container, "+
			"a process namespace of its own, and are measured over %s, %s after their start. `ullage` has no annotations to look at: with them it wakes up once a second more. "+memoryMethod, 2*e.window, settled),
		Columns: []column{{"rss", memoryTitle}, {"least", "least memory, MiB"}, {"cpu", "CPU, % of a core"}, {"wakes", "wake-ups/s"}},
	}
	return x, e.quiet.eachRound(e.rounds, func() error {
		return e.quiet.measured(x, func() ([]result, error) {
			return e.sideBySide(func(c *contestant) (figures, error) { return idleBeside(e, c) })
		})
	})
}

func idleBeside(e *evidence, c *contestant) (figures, error) {
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	for i := range 5 {
		f, err := os.Create(filepath.Join(p.source, fmt.Sprintf("gc-%d.log", i)))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for n := range 100 {
			fmt.Fprintf(f, "[%d.000s][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(64M) 1.234ms\n", n, n)
		}
	}
	s, err := c.startAlone(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	time.Sleep(settled)
	got, err := e.over(s, 2*e.window)
	if err != nil {
		return nil, err
	}
	_, err = c.end(s, p, 0)
	return got, err
}

// sideBySide runs all contestants at the same time.
func (e *evidence) sideBySide(run func(*contestant) (figures, error)) ([]result, error) {
	got, errs := make([]result, len(e.contestants)), make([]error, len(e.contestants))
	over := make(chan struct{})
	for i, c := range e.contestants {
		go func() {
			defer func() { over <- struct{}{} }()
			got[i].name = c.name
			if got[i].figures, errs[i] = run(c); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", c.name, errs[i])
			}
		}()
	}
	for range e.contestants {
		<-over
	}
	return got, errors.Join(errs...)
}
