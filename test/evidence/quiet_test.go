package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestARoundWaitsForAQuietMachine checks that a round waits for consecutive quiet seconds, but not forever.
func TestARoundWaitsForAQuietMachine(t *testing.T) {
	quietly, noisily := noted{over: time.Second}, noted{over: time.Second, others: 1}
	stolen := noted{over: time.Second, stolen: .5}
	for name, c := range map[string]struct {
		patience     time.Duration
		seconds      []noted // the last one is repeated
		looks        int
		waited       float64
		gaveUp       bool
		stillPatient bool
	}{
		"quiet":                {time.Minute, []noted{quietly}, calmFor, 0, false, true},
		"quiet after a while":  {time.Minute, []noted{quietly, noisily, stolen, quietly}, 3 + calmFor, 2, false, true},
		"never quiet":          {10 * time.Second, []noted{noisily}, 10, 10, true, false},
		"without any patience": {0, []noted{noisily}, 0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			q := quiet{patience: c.patience, look: func() noted {
				looks++
				return c.seconds[min(looks, len(c.seconds))-1]
			}}
			if err := q.await(); err != nil {
				t.Fatal(err)
			}
			if looks != c.looks || q.calm != (calm{c.waited, c.gaveUp}) || q.patience > 0 != c.stillPatient {
				t.Errorf("after %d looks: %+v, and %s are left; want %d looks, %+v", looks, q.calm, q.patience, c.looks, calm{c.waited, c.gaveUp})
			}
		})
	}
}

func TestAnInterruptedRunWaitsNoLonger(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	q := quiet{ctx: ctx, patience: time.Hour, look: func() noted {
		looks++
		cancel()
		return noted{over: time.Second, others: 1}
	}}
	if err := q.eachRound(2, func() error { return errors.New("a round began") }); !errors.Is(err, context.Canceled) || looks != 1 {
		t.Errorf("after %d looks at the machine, error %v; want 1 and %v", looks, err, context.Canceled)
	}
}

// TestADisturbedMeasurementIsRepeated checks that a disturbed measurement is repeated at most
// twice, and counted.
func TestADisturbedMeasurementIsRepeated(t *testing.T) {
	quietly, noisily := noted{}, noted{others: 1}
	for name, c := range map[string]struct {
		patience time.Duration
		meanings []noted
		want     repeat
	}{
		"undisturbed":                    {time.Hour, []noted{quietly}, repeat{}},
		"disturbed once":                 {time.Hour, []noted{noisily, quietly}, repeat{Repeated: 1}},
		"disturbed again and again":      {time.Hour, []noted{noisily, noisily, noisily}, repeat{Repeated: 2, Kept: 1}},
		"disturbed, and no patience":     {0, []noted{noisily}, repeat{Kept: 1}},
		"disturbed, by other machines":   {time.Hour, []noted{{stolen: .1}, quietly}, repeat{Repeated: 1}},
		"not disturbed by a little load": {time.Hour, []noted{{others: .2, load: 3}}, repeat{}},
	} {
		t.Run(name, func(t *testing.T) {
			runs, x := 0, &experiment{}
			q := quiet{patience: c.patience, look: func() noted { return noted{over: time.Second} }}
			q.watch = func() func() noted { return func() noted { return c.meanings[runs-1] } }
			n, err := q.undisturbed(x, func() error { runs++; return nil })
			if err != nil || x.repeat != c.want || runs != len(c.meanings) || n != c.meanings[runs-1] {
				t.Errorf("measured %d times, repeat %+v, error %v; want %d times, repeat %+v", runs, x.repeat, err, len(c.meanings), c.want)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := (&quiet{patience: time.Hour}).undisturbed(&experiment{}, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// TestOwnProcessesAreNotOthers checks that this test and its children do not count as a disturbance.
func TestOwnProcessesAreNotOthers(t *testing.T) {
	before := takeMoment()
	for _, script := range []string{"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", "exec sleep 0"} {
		if err := exec.Command("sh", "-c", script).Run(); err != nil {
			t.Fatal(err)
		}
	}
	after := takeMoment()
	if used := after.own - before.own; used <= 0 {
		t.Errorf("own processes used %g hundredths of a second, want some", used)
	}
	m, later := moment{all: ticks{total: 100, busy: 50, stolen: 1}, own: 10, kernel: map[int]float64{3: 5}}, moment{all: ticks{total: 300, busy: 130, stolen: 3}, own: 40, kernel: map[int]float64{3: 10, 4: 5}}
	m.at, later.at = time.Unix(0, 0), time.Unix(1, 0)
	if n := later.since(m); n.others != .4 || n.stolen != .01 { // 80, minus 30 of our own and 10 of the kernel
		t.Errorf("others used %g cores, and %g were stolen; want 0.4 and 0.01", n.others, n.stolen)
	}
}

// TestTheStatOfAProcessWithANameOfParentheses checks that the fields are parsed after the last
// parenthesis.
func TestTheStatOfAProcessWithANameOfParentheses(t *testing.T) {
	parent, used := parseStat("12 (a) b (c)) S 7 12 12 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7\n")
	if parent != 7 || used != 100 {
		t.Errorf("got %d and %g, want 7 and 100", parent, used)
	}
	if parent, used := parseStat("12 (a"); parent != 0 || used != 0 {
		t.Errorf("of a truncated line: got %d and %g, want 0 and 0", parent, used)
	}
	parents := map[int]int{os.Getpid(): 1, 70: os.Getpid(), 71: 70, 80: 81, 81: 80}
	for pid, want := range map[int]bool{os.Getpid(): true, 71: true, 1: false, 80: false, 99: false} {
		if got := descends(pid, os.Getpid(), parents); got != want {
			t.Errorf("process %d descends from this one: got %v, want %v", pid, got, want)
		}
	}
}

// TestThePageSaysWhatWasDoneForQuiet checks that the page describes the waits and repeats, and
// reports whether the machine was busy.
func TestThePageSaysWhatWasDoneForQuiet(t *testing.T) {
	x := &experiment{Name: "x", repeat: repeat{Repeated: 3, Kept: 1}}
	x.add("a", figures{})
	r := &record{sitting: sitting{Load: 9, Machine: machine{Cores: 2}, Calm: &calm{Waited: 90}}, Experiments: []*experiment{x}}
	var s strings.Builder
	r.head(&s)
	for _, want := range []string{"at most 10 % of a core", "the run waited 90 s for that", "3 were repeated; 1 were disturbed"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in:\n%s", want, &s)
		}
	}
	if strings.Contains(s.String(), "was busy") {
		t.Errorf("the run waited, but the page calls the machine busy:\n%s", &s)
	}
	if got, want := x.lasted(), "One round; 3 measurements repeated, 1 disturbed ones kept."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Calm.GaveUp = true
	s.Reset()
	if r.head(&s); !strings.Contains(s.String(), "was busy") {
		t.Errorf("the run gave up, but the page does not call the machine busy:\n%s", &s)
	}
}
