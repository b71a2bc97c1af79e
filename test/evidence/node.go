package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// nodeLines is how many lines each JVM of a node logs a second: about one collection at level info.
const nodeLines = 10

// mostSidecars is how many pods a node has at most by default, and wholeNode is the row for that
// number.
const (
	mostSidecars = 110
	wholeNode    = "sidecars: 110"
)

// node measures sidecars that share one disk: up to one for each pod that a node may have.
func node(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "node", Title: "Growth: sidecars of a node", Plot: "commit",
		Question: "What do the sidecars of a whole node cost, and how long do their commits take on one disk?",
		Method: fmt.Sprintf("This many sidecars run at once, each with a source and, as in a container, a process namespace of its own. One process writes %d lines/s into each source. They share the disk and the processors. "+
			"All figures are of all sidecars together, over %s; a commit is a sync and the checkpoint, once a second where lines came. A page of memory that n processes share counts for 1/n of each (PSS); memory is the largest sum of four samples.", nodeLines, e.window),
		Threat:  "The writer is one process, and real JVMs log in bursts. The disk is the machine's, and nothing else writes to it.",
		Columns: []column{{"cpu", "CPU, % of a core"}, {"pss", "largest memory, MiB"}, {"commits", "commits/s"}, {"commit", "a commit, ms"}, {"lost", "lines missing"}},
	}
	for _, n := range []int{1, 10, mostSidecars} {
		f, err := sidecars(e, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %d: %w", x.Title, n, err)
		}
		x.add(fmt.Sprintf("sidecars: %d", n), f)
	}
	return x, nil
}

// berth is a sidecar of a node and the file that its JVM writes.
type berth struct {
	*shipper
	place place
	log   *os.File
}

// sidecars measures n sidecars.
func sidecars(e *evidence, n int) (f figures, err error) {
	var all []berth
	defer func() {
		for _, b := range all {
			b.Kill()
			err = errors.Join(err, b.log.Close())
			b.place.remove()
		}
	}()
	for i := range n {
		c := e.sidecar(fmt.Sprintf("node-%d", i), "zstd")
		b := berth{}
		if b.place, err = e.place(c, ""); err != nil {
			return nil, err
		}
		if b.log, err = os.Create(b.place.log()); err != nil {
			return nil, err
		}
		if b.shipper, err = c.startAlone(e.ctx, b.place); err != nil {
			return nil, errors.Join(err, b.log.Close())
		}
		all = append(all, b)
	}
	done, fed := make(chan struct{}), make(chan fedLines, 1)
	go func() { fed <- feedAll(all, done) }()
	time.Sleep(5 * time.Second) // by then, memory that only the start needs is freed
	f, err = overAll(e, all, e.window)
	close(done)
	wrote := <-fed
	if err := errors.Join(err, wrote.err); err != nil {
		return nil, err
	}
	if err := stopAll(all); err != nil {
		return nil, err
	}
	kept := 0
	for _, b := range all {
		var lines newlines
		if err := e.sidecar("", "zstd").read(&lines, b.place); err != nil {
			return nil, err
		}
		kept += int(lines)
	}
	f["lost"] = float64(wrote.lines - kept)
	return f, nil
}

// stopAll drains all sidecars at the same time.
func stopAll(all []berth) error {
	stopped := make(chan error)
	for _, b := range all {
		go func() { stopped <- b.Stop(time.Minute) }()
	}
	var err error
	for range all {
		err = errors.Join(err, <-stopped)
	}
	return err
}

// fedLines is the number of lines written.
type fedLines struct {
	lines int
	err   error
}

// feedAll writes a line to each file in turn, nodeLines times a second, until done is closed.
func feedAll(all []berth, done <-chan struct{}) (n fedLines) {
	tick := time.NewTicker(time.Second / nodeLines)
	defer tick.Stop()
	line := []byte(lineHead + strings.Repeat(lineText, 2)[:usualLine-len(lineHead)-1] + "\n")
	for {
		select {
		case <-done:
			return n
		case <-tick.C:
		}
		for _, b := range all {
			if _, err := b.log.Write(line); err != nil {
				n.err = fmt.Errorf("write a line: %w", err)
				return n
			}
			n.lines++
		}
	}
}

// pssSamples is small, because for each sample the kernel visits all pages of a process, which takes half
// a millisecond.
const pssSamples = 4

// overAll measures all sidecars for d. The CPU time that they spend on requests for their metrics is not counted.
func overAll(e *evidence, all []berth, d time.Duration) (figures, error) {
	asked, err := commitsOf(all)
	if err != nil {
		return nil, err
	}
	used, err := cpuOf(all)
	if err != nil {
		return nil, err
	}
	began, most := time.Now(), 0.0
	for range pssSamples {
		select {
		case <-e.ctx.Done():
			return nil, e.ctx.Err()
		case <-time.After(d / pssSamples):
		}
		sum := 0.0
		for _, b := range all {
			sum += shared(b.PID())
		}
		most = max(most, sum)
	}
	lasted := time.Since(began)
	after, err := cpuOf(all)
	if err != nil {
		return nil, err
	}
	f := figures{"cpu": (after - used).Seconds() / lasted.Seconds() * 100, "pss": most}
	answered, err := commitsOf(all)
	if err != nil {
		return nil, err
	}
	count := answered.count - asked.count
	f["commits"] = count / time.Since(asked.at).Seconds()
	if count > 0 {
		f["commit"] = (answered.seconds - asked.seconds) / count * 1000
	}
	return f, nil
}

func cpuOf(all []berth) (sum time.Duration, err error) {
	for _, b := range all {
		used, err := lab.CPUTime(b.PID())
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// commits has the number and the total duration of the commits of all sidecars until a time.
type commits struct {
	at             time.Time
	count, seconds float64
}

func commitsOf(all []berth) (c commits, err error) {
	c.at = time.Now()
	for _, b := range all {
		for series, into := range map[string]*float64{"ullage_commit_duration_seconds_count": &c.count, "ullage_commit_duration_seconds_sum": &c.seconds} {
			v, err := b.Metric(series)
			if err != nil {
				return c, err
			}
			*into += v
		}
	}
	return c, nil
}

// shared returns the memory of a process in MiB, including its part of shared memory, or 0 if the process has
// ended.
func shared(pid int) float64 {
	kib, _ := strconv.Atoi(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), " kB"))
	return float64(kib) / 1024
}
