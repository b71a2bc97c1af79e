// Command evidence measures contestants in the same experiments and records the figures. It writes
// a page with tables and plots only from that record.
//
// In each round every contestant runs once, so that a machine that slows down slows all of them. The command needs a
// JDK (17 or later), and three times --size of free space, both on a tmpfs at /dev/shm and in the directory of
// --dest. As root, it also freezes a disk. Other shippers take part if they are on the PATH. rsyslog and syslog-ng
// are downloaded from Debian; an OpenTelemetry Collector, Filebeat and vlagent are built from Go modules. This is
// done once, into the user's cache.
//
//	evidence loop WAY FROM TO   is a contestant: it copies a file
//	evidence -limits            compares ullage with its limits, without the others and a page
//
// With -limits, the command needs no other shipper, but 12 GiB in the directory of --dest. The experiment with a tmpfs
// of 16 MiB needs root.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// experiments has all experiments, in the order of the page.
var experiments = []question{
	{"catchup", forPage | forLimits, catchUp},
	{"reader", forLimits, readerAlone},
	{"steady", forPage | forLimits, steady},
	{"idle", forPage | forLimits, idle},
	{"raise", forLimits, raised},
	{"storm", forPage | forLimits, stormed},
	{"small", forLimits, small},
	{"crowded", forPage, crowded},
	{"kills", forPage, kills},
	{"frozen", forPage, frozen},
	{"hello", forPage, hello},
	{"stopped", forPage, ofApplication(application.stopped)},
	{"saturated", forPage, ofApplication(application.saturated)},
	{"long", forPage, ofApplication(long)},
	{"traced", forPage, ofApplication(traced)},
	{"speed", forPage, ofApplication(application.speed)},
	{"stalled", forPage, ofApplication(application.frozenDisk)},
	{"killed", forPage, ofApplication(application.killed)},
	{"events", forPage, ofApplication(application.events)},
	{"million", forPage, ofApplication(application.million)},
	{"lines", forPage, growingLines},
	{"files", forPage, growingFiles},
	{"length", forPage, growingLength},
	{"jvms", forPage, growingJVMs},
	{"node", forPage, node},
	{"soak", forPage, soak},
	{"minute", forLimits, minute},
	{"injector", forPage, injector},
	{"report", forPage | forLimits, reports},
	{"compared", forLimits, compared},
	{"tried", forPage, measureWays},
	{"hindsight", forPage, hindsight},
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == "loop" {
		exitOn(runLoop(os.Args[2], os.Args[3], os.Args[4]))
		return
	}
	e := &evidence{}
	var ask request
	flag.StringVar(&e.ullage, "ullage", "bin/ullage", "the `PROGRAM` to measure")
	dest := flag.String("dest", os.TempDir(), "`DIR` on the disk that is measured")
	flag.IntVar(&e.rounds, "rounds", leastRounds, "`ROUNDS`, whose median counts")
	flag.IntVar(&e.size, "size", 1024, "`MiB` of log to catch up with")
	flag.DurationVar(&e.window, "window", 8*time.Second, "`TIME` over which a steady state is measured")
	flag.DurationVar(&e.soaked, "soak", 2*time.Minute, "`TIME` of the soak")
	flag.DurationVar(&e.quiet.patience, "patience", 0, "`TIME` that the run waits, at most, for a quiet machine; 0: none, and disturbed measurements are not repeated")
	flag.BoolVar(&e.alone, "limits", false, "measure only the figures that have limits, without peers, and print them next to the limits; write no page")
	profile := flag.String("profile", "", "measure nothing, and write a CPU profile of the catch-up to this `FILE`, for the compiler")
	flag.StringVar(&ask.only, "only", "", "run only these `EXPERIMENTS`, comma-separated: "+names())
	flag.StringVar(&ask.command, "command", strings.Join(append([]string{"evidence"}, os.Args[1:]...), " "), "the `COMMAND` that the page names")
	flag.StringVar(&ask.record, "record", "bin/benchmarks.json", "the `FILE` of the record")
	flag.StringVar(&ask.page, "page", "bin/benchmarks.md", "the `FILE` of the page; plots are written next to it")
	flag.StringVar(&ask.quote, "quote", "", "the `FILES`, comma-separated, whose quoted tables are to be renewed")
	flag.BoolVar(&ask.keep, "keep", false, "keep what the record has about other experiments, from earlier runs")
	render := flag.Bool("render", false, "measure nothing, and write the page from the record")
	flag.Parse()
	e.alone = e.alone || *profile != ""
	e.rounds, e.size = max(e.rounds, 1), max(e.size, 1)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	e.ctx, e.quiet.ctx = ctx, ctx
	if *render {
		exitOn(ask.render())
		return
	}
	exitOn(e.within(*dest, func() error {
		switch {
		case *profile != "":
			return writeProfile(e, *profile)
		case e.alone:
			return ask.holdToLimits(e)
		}
		return ask.compare(e)
	}))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
}

func names() string {
	var all []string
	for _, x := range experiments {
		all = append(all, x.name)
	}
	return strings.Join(all, ",")
}

// request says which experiments to run, and where to write the results.
type request struct {
	only, command       string
	record, page, quote string // files
	keep                bool   // the experiments of the record that are not run now
}

// asked returns the experiments that r.only names, or if it is empty, the experiments for the
// purpose.
func (r request) asked(in purpose) (asked []question) {
	for _, q := range experiments {
		if r.only == "" && q.in&in != 0 || slices.Contains(strings.Split(r.only, ","), q.name) {
			asked = append(asked, q)
		}
	}
	return asked
}

// holdToLimits measures the sidecar by itself and prints the results with the limits.
func (r request) holdToLimits(e *evidence) error {
	got, err := e.measure(r.command, r.asked(forLimits), func(*record) error { return nil })
	got.print()
	got.printGoals()
	return err
}

// compare measures and writes the record and the page.
func (r request) compare(e *evidence) error {
	for _, path := range []string{r.record, r.page} { // before the run, so that an error does not come after half an hour
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	old := &record{}
	if r.keep {
		var err error
		if old, err = load(r.record); err != nil {
			return err
		}
	}
	got, failed := e.measure(r.command, r.asked(forPage), func(now *record) error { return merged(now, old).save(r.record) })
	if len(got.Experiments) == 0 {
		return failed
	}
	return errors.Join(failed, r.render())
}

// merged returns a record that has the experiments of now, and those of an older record that now lacks.
func merged(now, old *record) *record {
	all := *now
	all.Experiments, all.Contestants = nil, slices.Clone(now.Contestants)
	found := map[string]*experiment{}
	for _, x := range old.Experiments {
		kept := *x
		kept.Earlier = cmp.Or(x.Earlier, &old.sitting)
		found[x.Name] = &kept
	}
	for _, x := range now.Experiments {
		found[x.Name] = x
	}
	for _, q := range experiments {
		if x := found[q.name]; x != nil {
			all.Experiments = append(all.Experiments, x)
		}
	}
	for _, c := range old.Contestants {
		if !slices.ContainsFunc(now.Contestants, func(d configured) bool { return d.Name == c.Name }) {
			all.Contestants = append(all.Contestants, c)
		}
	}
	return &all
}

// render writes the page from the record, and the documents that quote it.
func (r request) render() error {
	got, err := load(r.record)
	if err != nil {
		return err
	}
	got.print()
	failed := got.write(r.page)
	for _, path := range strings.FieldsFunc(r.quote, func(c rune) bool { return c == ',' }) {
		failed = errors.Join(failed, got.quoteIn(path))
	}
	return failed
}
