package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pausePairs are the rows of the sidecar without and with the reading of pauses. Without compression, the reading is
// a larger share of the CPU time.
var pausePairs = []struct{ name, compress, off, on string }{
	{"without compression (the strictest case)", "none", "`ullage run --compress none --jvm-metrics=false`", "`ullage run --compress none`"},
	{"with zstd", "zstd", "`ullage run --compress zstd --jvm-metrics=false`", "`ullage run --compress zstd`"},
}

// triedTimes is how often each sidecar runs in a round. One run would be too few, because two runs may differ by
// more than the cost of reading pauses.
const triedTimes = 3

// measureWays measures alternatives to the way in which the sidecar copies.
func measureWays(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "tried", Title: "Ways to copy", Plot: "cpu",
		Question: "Which ways to copy a log to the disk take less CPU time, or less space, than the sidecar's?",
		Method: fmt.Sprintf("%d MiB of a JVM's log at `all=trace` lie on tmpfs. Loops that do not parse lines copy it to the disk, in blocks of 512 KiB unless stated otherwise, and wait for the disk (`fdatasync`) after each 8 MiB. "+
			"The encoder is the sidecar's unless stated otherwise. The ways that punch holes free a copy of the log on the tmpfs as they go, as the sidecar does. The sidecar itself runs %d times in each round: with and without the reading of pauses, and on one CPU.", e.size, triedTimes),
		Threat:  "The lines repeat, which favours a long window and a dictionary. `sync_file_range` and `fdatasync` write back in the thread that calls them, whose CPU time is measured; the CPU time of write-back in the kernel's own threads is not.",
		Columns: []column{{"cpu", "CPU, s/GiB"}, {"wall", "wall, s/GiB"}, {"disk", "on disk, MiB/GiB"}},
	}
	data := filepath.Join(e.shm, "data")
	if err := e.makeLog(data); err != nil {
		return nil, err
	}
	var all []entry
	for _, w := range ways {
		all = append(all, entry{w.name, func() (figures, error) { return tryWay(e, w, data) }})
	}
	sidecars, err := triedSidecars(e, data)
	if err != nil {
		return nil, err
	}
	for range triedTimes {
		all = append(all, sidecars...)
	}
	if err := e.inTurn(x, all); err != nil {
		return nil, err
	}
	return x, os.Remove(data)
}

// tryWay measures one way. A way that frees the log gets a copy of it.
func tryWay(e *evidence, w way, data string) (f figures, err error) {
	if w.free {
		whole := data
		data += "-freed"
		defer func() { err = errors.Join(err, os.Remove(data)) }()
		if err := exec.CommandContext(e.ctx, "cp", whole, data).Run(); err != nil {
			return nil, fmt.Errorf("copy the log: %w", err)
		}
	}
	return loopBy(e, w.name, data)
}

// triedSidecars returns the entries of the sidecar itself, with and without the reading of pauses,
// and on one CPU.
func triedSidecars(e *evidence, data string) ([]entry, error) {
	lines, err := countLines(data)
	if err != nil {
		return nil, err
	}
	var all []*contestant
	for _, p := range pausePairs {
		all = append(all, e.sidecar(p.off, p.compress, "--jvm-metrics=false"), e.sidecar(p.on, p.compress))
	}
	all = append(all, e.sidecar("`taskset --cpu-list 0 ullage run --compress none`", "none").pinned())
	return entriesOf(all, func(c *contestant) (figures, error) { return e.perGiB(e.drain(c, data, lines)) }), nil
}

// loopBy measures one way in a separate process.
func loopBy(e *evidence, name, data string) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := fresh(e.disk, "copy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	f, err := measure(e.ctx, self, "loop", name, data, out)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return nil, err
	}
	f["disk"] = float64(info.Size()) / (1 << 20)
	return e.perGiB(f, nil)
}
