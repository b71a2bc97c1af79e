// Command evidence runs contestants side by side, records what they cost, and
// writes a page with tables and plots from that record alone.
//
// In each round every contestant runs once, so that a machine that slows down
// slows all of them. It needs a JDK (17 or newer), and on a tmpfs at /dev/shm
// and in the directory of --dest room for three times --size. As root, it also
// freezes a disk. Other shippers take part if they are on the PATH; rsyslog and
// syslog-ng are fetched from Debian, and an OpenTelemetry Collector is built
// from Go modules, both once and into the user's cache.
//
//	evidence loop WAY FROM TO   is a contestant: it copies a file
package main

import (
	"context"
	"embed"
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

	"github.com/ullage/ullage/test/lab"
)

//go:embed *.java
var sources embed.FS

// evidence is one run.
type evidence struct {
	ctx       context.Context
	ullage    string // the program
	shm, disk string // scratch directories on tmpfs and on the disk
	classes   string
	jdks      []lab.JDK
	rounds    int
	size      int           // of the log to catch up with, in MiB
	window    time.Duration // over which a steady state is measured
	soaked    time.Duration // how long the soak takes

	contestants []*contestant
}

// experiments are the questions, in the order of the page.
var experiments = []struct {
	name string
	run  func(*evidence) (*experiment, error)
}{
	{"catchup", (*evidence).catchUp},
	{"steady", (*evidence).steady},
	{"idle", (*evidence).idle},
	{"storm", func(e *evidence) (*experiment, error) { return storms{e}.storm() }},
	{"crowded", func(e *evidence) (*experiment, error) { return storms{e}.crowded() }},
	{"kills", (*evidence).kills},
	{"frozen", (*evidence).frozen},
	{"hello", (*evidence).hello},
	{"stopped", ofApplication(application.stopped)},
	{"saturated", ofApplication(application.saturated)},
	{"speed", ofApplication(application.speed)},
	{"stalled", ofApplication(application.frozenDisk)},
	{"killed", ofApplication(application.killed)},
	{"events", ofApplication(application.events)},
	{"million", ofApplication(application.million)},
	{"lines", func(e *evidence) (*experiment, error) { return growth{e}.lines() }},
	{"files", func(e *evidence) (*experiment, error) { return growth{e}.files() }},
	{"length", func(e *evidence) (*experiment, error) { return growth{e}.length() }},
	{"jvms", func(e *evidence) (*experiment, error) { return growth{e}.jvms() }},
	{"node", func(e *evidence) (*experiment, error) { return growth{e}.node() }},
	{"soak", func(e *evidence) (*experiment, error) { return growth{e}.soak() }},
	{"injector", func(e *evidence) (*experiment, error) { return parts{e}.injector() }},
	{"report", func(e *evidence) (*experiment, error) { return parts{e}.reports() }},
	{"tried", func(e *evidence) (*experiment, error) { return parts{e}.tried() }},
	{"hindsight", func(e *evidence) (*experiment, error) { return parts{e}.hindsight() }},
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == "loop" {
		exitOn(runLoop(os.Args[2], os.Args[3], os.Args[4]))
		return
	}
	ullage := flag.String("ullage", "bin/ullage", "the `PROGRAM` to measure")
	dest := flag.String("dest", os.TempDir(), "`DIR` on the disk that is measured")
	rounds := flag.Int("rounds", 3, "`ROUNDS`, whose median counts")
	size := flag.Int("size", 1024, "`MiB` of log to catch up with")
	window := flag.Duration("window", 8*time.Second, "`TIME` over which a steady state is measured")
	soak := flag.Duration("soak", 2*time.Minute, "`TIME` of the soak")
	only := flag.String("only", "", "run only these `EXPERIMENTS`, by a comma apart: "+names())
	command := flag.String("command", "", "the `COMMAND` that the page names (default: this one)")
	recorded := flag.String("record", "bin/benchmarks.json", "the `FILE` of the record")
	page := flag.String("page", "bin/benchmarks.md", "the `FILE` of the page; plots are written next to it")
	quoting := flag.String("quote", "", "the `FILES`, by a comma apart, that have tables of the page, which are to be renewed")
	render := flag.Bool("render", false, "measure nothing, and write the page from the record")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	e := &evidence{ctx: ctx, ullage: *ullage, rounds: max(*rounds, 1), size: max(*size, 1), window: *window, soaked: *soak}
	if *command == "" {
		*command = strings.Join(append([]string{"evidence"}, os.Args[1:]...), " ")
	}
	exitOn(e.main(*dest, *command, *only, *recorded, *page, *quoting, *render))
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

func (e *evidence) main(dest, command, only, recorded, page, quoting string, render bool) error {
	var failed error
	for _, path := range []string{recorded, page} { // not after half an hour
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	if !render {
		r, err := e.measure(dest, command, only)
		if r == nil {
			return err
		}
		failed = err
		if err := r.save(recorded); err != nil {
			return errors.Join(failed, err)
		}
	}
	r, err := load(recorded)
	if err != nil {
		return errors.Join(failed, err)
	}
	var tables strings.Builder
	for _, x := range r.Experiments {
		if x.NotRun == "" {
			fmt.Fprintf(&tables, "\n%s\n\n", x.Title)
			x.table(&tables)
		}
	}
	fmt.Print(tables.String())
	failed = errors.Join(failed, r.write(page))
	for _, path := range strings.FieldsFunc(quoting, func(c rune) bool { return c == ',' }) {
		failed = errors.Join(failed, r.quoteIn(path))
	}
	return failed
}

// measure runs every experiment, or only some of them. One that fails does not
// cost the others half an hour: the record has those that worked, and the error
// the rest. There is no record when nothing could begin.
func (e *evidence) measure(dest, command, only string) (*record, error) {
	cleanup, err := e.prepare(dest)
	defer cleanup()
	if err != nil {
		return nil, err
	}
	r := &record{Date: time.Now().UTC().Format(time.RFC3339), Command: command, Machine: describe(e.ullage, e.disk, e.jdks)}
	for _, c := range e.contestants {
		r.Contestants = append(r.Contestants, configured{c.name, c.version, c.config})
	}
	before, began := now(), time.Now()
	r.Load = loadAverage()
	for _, question := range experiments {
		if only != "" && !slices.Contains(strings.Split(only, ","), question.name) {
			continue
		}
		fmt.Println(question.name)
		started := time.Now()
		x, failed := question.run(e)
		took := time.Since(started).Round(time.Second)
		fmt.Printf("  (%s)\n", took)
		if failed != nil {
			fmt.Printf("  failed: %v\n", failed)
			err = errors.Join(err, fmt.Errorf("%s: %w", question.name, failed))
			continue
		}
		if x.NotRun != "" {
			fmt.Println("  not run:", x.NotRun)
		}
		x.Seconds = took.Seconds()
		r.Experiments = append(r.Experiments, x)
	}
	r.Noise, r.Seconds = noise(r.Load, before), time.Since(began).Round(time.Second).Seconds()
	return r, err
}

// prepare makes the scratch directories, which cleanup removes, and compiles
// the Java programs.
func (e *evidence) prepare(dest string) (cleanup func(), err error) {
	cleanup = func() {
		for _, dir := range []string{e.shm, e.disk} {
			if dir != "" {
				_ = os.RemoveAll(dir) // scratch that a killed child may still hold
			}
		}
	}
	if e.jdks, err = lab.JDKs(); err != nil {
		return cleanup, err
	}
	if e.contestants, err = e.shippers(); err != nil {
		return cleanup, err
	}
	if e.shm, err = os.MkdirTemp("/dev/shm", "ullage-evidence-"); err != nil {
		return cleanup, fmt.Errorf("make a directory on tmpfs: %w", err)
	}
	if e.disk, err = os.MkdirTemp(dest, "ullage-evidence-"); err != nil {
		return cleanup, fmt.Errorf("make a directory on the disk: %w", err)
	}
	e.classes = filepath.Join(e.shm, "classes")
	if err = os.CopyFS(e.classes, sources); err != nil {
		return cleanup, err
	}
	return cleanup, e.jdks[0].Compile(e.classes, filepath.Join(e.classes, "Hello.java"), filepath.Join(e.classes, "Garbage.java"), filepath.Join(e.classes, "Sip.java"))
}
