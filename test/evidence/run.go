package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/test/lab"
)

//go:embed *.java
var sources embed.FS

// evidence has the settings and the state of one run.
type evidence struct {
	ctx       context.Context
	ullage    string // the program
	shm, disk string // scratch directories on tmpfs and on the disk
	classes   string
	jdks      []lab.JDK
	rounds    int
	size      int           // of the log to catch up with, in MiB
	window    time.Duration // the time over which a steady state is measured
	soaked    time.Duration // the length of the soak
	alone     bool          // without peers, for -limits

	contestants []*contestant
	absent      []string // the missing peers, with the reason
	quiet       quiet
}

// question is an experiment that can be run.
type question struct {
	name string
	in   purpose
	run  func(*evidence) (*experiment, error)
}

// purpose is a set of reasons to run an experiment that is not requested by name.
type purpose int

const (
	forPage   purpose = 1 << iota // the page, which compares contestants
	forLimits                     // the limits, with which `make bench` compares ullage
)

// measure runs experiments and calls save after each. If an experiment fails, the others are not lost: the record
// has the successful experiments, and the error names the failed ones.
func (e *evidence) measure(command string, asked []question, save func(*record) error) (r *record, err error) {
	r = &record{sitting: sitting{Date: time.Now().UTC().Format(time.RFC3339), Command: command, Machine: describe(e.ullage, e.disk, e.jdks)}}
	for _, c := range e.contestants {
		r.Contestants = append(r.Contestants, configured{c.name, c.version, c.config})
	}
	patient := e.quiet.patience > 0
	if err := e.quiet.await(); err != nil {
		return r, err
	}
	r.Absent = e.absent
	before, began := now(), time.Now()
	r.Load = loadAverage()
	for _, question := range asked {
		fmt.Println(question.name)
		started := time.Now()
		x, failed := question.run(e)
		took := time.Since(started).Round(time.Second)
		fmt.Printf("  (%s)\n", took)
		if failed != nil {
			fmt.Printf("  failed: %v\n", failed)
			err = errors.Join(err, fmt.Errorf("%s: %w", question.name, failed))
			if e.quiet.interrupted() != nil {
				return r, err
			}
			continue
		}
		if x.NotRun != "" {
			fmt.Println("  not run:", x.NotRun)
		}
		x.Seconds = took.Seconds()
		r.Experiments = append(r.Experiments, x)
		if patient {
			r.Calm = &e.quiet.calm
		}
		r.Noise, r.Seconds = noise(r.Load, before), time.Since(began).Round(time.Second).Seconds()
		if failed := save(r); failed != nil {
			return r, errors.Join(err, failed)
		}
	}
	return r, err
}

// within calls f while the scratch directories exist.
func (e *evidence) within(dest string, f func() error) error {
	cleanup, err := e.prepare(dest)
	defer cleanup()
	if err != nil {
		return err
	}
	return f()
}

// prepare makes the scratch directories, which cleanup removes, and compiles
// the Java programs.
func (e *evidence) prepare(dest string) (cleanup func(), err error) {
	cleanup = func() {
		for _, dir := range []string{e.shm, e.disk} {
			if dir != "" {
				_ = os.RemoveAll(dir) // scratch that a killed child may still have open
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
	if e.contestants, err = e.shippers(); err != nil {
		return cleanup, err
	}
	e.classes = filepath.Join(e.shm, "classes")
	if err = os.CopyFS(e.classes, sources); err != nil {
		return cleanup, err
	}
	programs, err := filepath.Glob(filepath.Join(e.classes, "*.java"))
	if err != nil {
		return cleanup, err
	}
	return cleanup, e.jdks[0].Compile(e.classes, programs...)
}
