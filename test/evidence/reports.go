package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/test/lab"
)

// reportLogs are the logs for reports. phases is the number of lines about phases, at level debug, for each collection
// in a log.
var reportLogs = []struct {
	name   string
	phases int
}{{"each line about a pause", 0}, {"`gc*=debug`", 30}}

// The rows of the experiment with hindsight.
const (
	hindsightOff   = "all lines persisted"
	hindsightHeld  = "lines below `info` held, none saved"
	hindsightSaved = "lines below `info` held, all saved"
)

// reports reads logs with ullage report.
func reports(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "report", Title: "A report", Plot: "speed",
		Question: "How fast does `ullage report` read a log, and what does it need for that?",
		Method: fmt.Sprintf("The log of a JVM's day, in %d MiB: with eight lines for each collection, each about its pause, and with 30 more at level debug. "+
			"`ullage report` reads the file from the disk, or the page cache, and writes its page.", e.size),
		Threat:  "The log is written by a program: its times and sizes differ from line to line, but not its forms. Its decorations are HotSpot's default.",
		Columns: []column{{"speed", "MB a CPU second"}, {"peak", "peak memory, MiB"}, {"page", "page, KiB"}},
	}
	dir, err := fresh(e.disk, "report")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	page := filepath.Join(dir, "report.html")
	var all []entry
	for i, c := range reportLogs {
		log := filepath.Join(dir, fmt.Sprintf("gc-%d.log", i))
		if err := lab.WriteDay(log, int64(e.size)<<20, c.phases); err != nil {
			return nil, err
		}
		all = append(all, entry{c.name, func() (figures, error) { return reportOn(e, log, page) }})
	}
	return x, e.inTurn(x, all)
}

func reportOn(e *evidence, log, page string) (figures, error) {
	f, err := measure(e.ctx, e.ullage, "report", "--output", page, log)
	if err != nil {
		return nil, err
	}
	f["speed"] = float64(e.size) * (1 << 20) / 1e6 / f["cpu"]
	return f, f.pageSize(page)
}

// hindsight runs the Go benchmark of held lines.
func hindsight(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "hindsight", Title: "Hindsight", Plot: "stored",
		Question: "What does it cost to hold debug lines in memory, instead of persisting them?",
		Method:   "A Go benchmark, compiled as the program is, ships 64 MiB of a G1 log at `gc*=debug` from the tmpfs to segments: all lines persisted; those below `info` held, and forgotten; or held, and saved.",
		Threat:   "Most lines of the log are below `info`. How many of the held lines are saved in practice depends on how often something goes wrong.",
		Columns:  []column{{"cpu", "CPU, ms"}, {"stored", "stored, MiB"}},
	}
	names := map[string]string{"Hindsight/persisted": hindsightOff, "Hindsight/held": hindsightHeld, "Hindsight/saved": hindsightSaved}
	return x, e.quiet.eachRound(e.rounds, func() error {
		return e.quiet.measured(x, func() (got []result, err error) {
			all, err := goBench(e, "./internal/ship", "^BenchmarkHindsight$", "10x", "-pgo", "cmd/ullage/default.pgo")
			for _, b := range all {
				got = append(got, result{names[b.name], b.figures})
			}
			return got, err
		})
	})
}
