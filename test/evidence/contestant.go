package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// contestant is a shipper: it follows the files of a directory and writes their lines to another
// directory.
type contestant struct {
	name    string
	version string
	config  string // as the page shows it
	command func(ctx context.Context, p place) (*exec.Cmd, error)
	ullage  bool // the output is segments, and SIGTERM drains; otherwise it is one file, and SIGTERM only ends the process
}

// place has the directories of a contestant.
type place struct {
	source string // on tmpfs
	dest   string
	state  string // its own files, such as positions
}

// place makes the empty directories of a contestant. Its output and its own files are on the volume, or if volume
// is empty, on the disk.
func (e *evidence) place(c *contestant, volume string) (p place, err error) {
	name := strings.ReplaceAll(strings.ReplaceAll(c.name, " ", "-"), ",", "")
	if volume == "" {
		volume = filepath.Join(e.disk, name)
	}
	if p.source, err = fresh(e.shm, "source-"+name); err != nil {
		return p, err
	}
	if p.dest, err = fresh(volume, "out"); err != nil {
		return p, err
	}
	p.state, err = fresh(volume, "state")
	return p, err
}

// remove frees the memory and the space of a place.
func (p place) remove() {
	for _, dir := range []string{p.source, p.dest, p.state} {
		_ = os.RemoveAll(dir) // scratch: what is left is removed at the end of the run
	}
}

func (p place) log() string { return filepath.Join(p.source, "gc.log") }

// start starts the contestant. If the contestant is a sidecar, it is up when start returns; other contestants
// do not report when they are up.
func (c *contestant) start(ctx context.Context, p place) (*shipper, error) {
	cmd, err := c.command(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", c.name, err)
	}
	return c.launch(cmd)
}

// startAlone is start in a separate process namespace, as in a container.
func (c *contestant) startAlone(ctx context.Context, p place) (*shipper, error) {
	cmd, err := c.command(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", c.name, err)
	}
	return c.launch(lab.Alone(cmd))
}

// pinned limits the contestant to one CPU and returns it.
func (c *contestant) pinned() *contestant {
	free := c.command
	c.command = func(ctx context.Context, p place) (*exec.Cmd, error) {
		cmd, err := free(ctx, p)
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", "0"}, cmd.Args...)...), nil
	}
	return c
}

func (c *contestant) launch(cmd *exec.Cmd) (s *shipper, err error) {
	s = &shipper{cmd: cmd}
	if s.Sidecar, err = lab.StartCommand(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	if c.ullage {
		if _, err := s.Addr(10 * time.Second); err != nil {
			s.Kill()
			return nil, err
		}
	}
	return s, nil
}

// end lets the contestant finish and waits until it has ended. want is the size of a complete output, or 0 if
// unknown. end returns the time of the last output.
func (c *contestant) end(s *shipper, p place, want int64) (last time.Time, err error) {
	if c.ullage {
		err = s.Stop(10 * time.Minute)
		return time.Now(), err
	}
	last = p.settle(s, want)
	if s.Exited() {
		fmt.Printf("  %s has ended by itself; it said:\n%s", c.name, s.Stderr())
		s.crashed = true
		return last, nil
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return last, err
	}
	if _, err := s.Wait(30 * time.Second); err != nil {
		s.Kill()
	}
	return last, nil
}

// settle waits until the output has the wanted size, or has not grown for 3 s.
func (p place) settle(s *shipper, want int64) (last time.Time) {
	size := p.size()
	last = time.Now()
	for time.Since(last) < 3*time.Second && !s.Exited() && (want == 0 || size < want) {
		time.Sleep(10 * time.Millisecond)
		if now := p.size(); now != size {
			size, last = now, time.Now()
		}
	}
	return last
}

// size returns the size of all output.
func (p place) size() (sum int64) {
	_ = filepath.WalkDir(p.dest, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the directory does not exist yet
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// outputs returns the paths of the files with the lines, from the oldest to the newest.
func (c *contestant) outputs(p place) ([]string, error) {
	if c.ullage {
		return lab.Segments(p.dest, "gc.log")
	}
	paths, err := filepath.Glob(filepath.Join(p.dest, "out.log*"))
	slices.Sort(paths)
	return paths, err
}

// read writes the lines of the output to w.
func (c *contestant) read(w io.Writer, p place) error {
	paths, err := c.outputs(p)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := lab.ReadSegment(w, path); err != nil {
			return err
		}
	}
	return nil
}

// balance compares the output with the written lines.
func (c *contestant) balance(p place, w *lab.Writer) (lab.Balance, error) {
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(c.read(pipe, p)) }()
	defer r.Close()
	return lab.Compare(r, w)
}
