// Command evidence runs contestants side by side, records what they cost, and
// writes a page with tables and plots from that record alone.
//
// In each round every contestant runs once, so that a machine that slows down
// slows all of them. It needs a JDK (17 or newer), and on a tmpfs at /dev/shm
// and in the directory of --dest room for three times --size.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	size      int // of the log to catch up with, in MiB
}

func main() {
	ullage := flag.String("ullage", "bin/ullage", "the `PROGRAM` to measure")
	dest := flag.String("dest", os.TempDir(), "`DIR` on the disk that is measured")
	rounds := flag.Int("rounds", 5, "`ROUNDS`, of which the median counts")
	size := flag.Int("size", 1024, "`MiB` of log to catch up with")
	command := flag.String("command", "", "the `COMMAND` that the page names (default: this one)")
	recorded := flag.String("record", "bin/benchmarks.json", "the `FILE` of the record")
	page := flag.String("page", "bin/benchmarks.md", "the `FILE` of the page; plots are written beside it")
	render := flag.Bool("render", false, "measure nothing, and write the page from the record")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	e := &evidence{ctx: ctx, ullage: *ullage, rounds: max(*rounds, 1), size: max(*size, 1)}
	if *command == "" {
		*command = strings.Join(append([]string{"evidence"}, os.Args[1:]...), " ")
	}
	if err := e.main(*dest, *command, *recorded, *page, *render); err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
}

func (e *evidence) main(dest, command, recorded, page string, render bool) error {
	if !render {
		r, err := e.measure(dest, command)
		if err != nil {
			return err
		}
		if err := r.save(recorded); err != nil {
			return err
		}
	}
	r, err := load(recorded)
	if err != nil {
		return err
	}
	var tables strings.Builder
	for _, x := range r.Experiments {
		fmt.Fprintf(&tables, "\n%s\n\n", x.Title)
		x.table(&tables)
	}
	fmt.Print(tables.String())
	return r.write(page)
}

// measure runs every experiment.
func (e *evidence) measure(dest, command string) (*record, error) {
	cleanup, err := e.prepare(dest)
	defer cleanup()
	if err != nil {
		return nil, err
	}
	r := &record{Date: time.Now().UTC().Format(time.RFC3339), Command: command, Rounds: e.rounds, Machine: describe(e.ullage, e.disk, e.jdks)}
	load, before := loadAverage(), now()
	for _, run := range []func() (*experiment, error){e.catchUp, e.hello} {
		started := time.Now()
		x, err := run()
		if err != nil {
			return nil, err
		}
		fmt.Printf("%s: %s\n", x.Title, time.Since(started).Round(time.Second))
		r.Experiments = append(r.Experiments, x)
	}
	r.Noise = noise(load, before)
	return r, nil
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
	return cleanup, e.jdks[0].Compile(e.classes, filepath.Join(e.classes, "Hello.java"), filepath.Join(e.classes, "Garbage.java"))
}
