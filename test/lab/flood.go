package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flood describes what a process that plays a JVM writes: the [Records] of a seed, appended to one file without
// rotation, as the injected -Xlog does, or to a file that it rotates as HotSpot does. If the tmpfs is full, it
// behaves like HotSpot: it neither waits nor fails, the record is cut where the last page ends, further records are
// lost, and the first one that fits again is glued to the cut one without a newline. It does not rotate in between.
type Flood struct {
	Path string // of the file, "/source/gc.log"
	Seed uint64 // of the records
	Rate int64  // bytes a second; 0 means as fast as possible. A delayed writer does not catch up.

	Files     int   // filecount; 0: no rotation
	FileBytes int64 // filesize; 0: no rotation
}

// Loss is a series of consecutive records that a full tmpfs did not take.
type Loss struct {
	Record  uint64 // the index of the first one
	Records uint64 // how many
	Written int    // bytes of the first one that are in the file; the others have none there
}

// FloodReport describes what a flood has written. The written bytes can be made again from it.
type FloodReport struct {
	Seed    uint64
	Records uint64 // attempted
	Lines   uint64 // in these records
	Bytes   int64  // in the file
	Losses  []Loss // in their order
}

// MaxPhases is how many phases of a flood can be told apart.
const MaxPhases = 8

// Flooding is the running process of a [Flood]: a process of its own with one thread that writes, so that neither the
// scheduler nor the garbage collector of the test affects the measured times. Every Flooding must be ended by Stop.
// All methods except Stop may be called concurrently.
type Flooding struct {
	cmd   *exec.Cmd
	input io.Closer
	out   bytes.Buffer // may be read once done is closed
	said  bytes.Buffer // likewise
	done  chan struct{}
	board *board
	fd    *os.File
}

// StartFlood starts the process. It runs this program again, which must call [BeFlood], as [Main] does.
func StartFlood(f Flood) (*Flooding, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("flood", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("start flood: %w", err)
	}
	p := &Flooding{fd: os.NewFile(uintptr(fd), "flood"), done: make(chan struct{})}
	if err := p.fd.Truncate(int64(unsafe.Sizeof(board{}))); err != nil {
		return nil, errors.Join(fmt.Errorf("start flood: %w", err), p.fd.Close())
	}
	if p.board, err = mapBoard(fd); err != nil {
		return nil, errors.Join(err, p.fd.Close())
	}
	p.cmd = exec.Command("/proc/self/exe")
	p.cmd.Env = append(os.Environ(), floodEnv+"="+string(text), "GODEBUG=asyncpreemptoff=1")
	p.cmd.ExtraFiles = []*os.File{p.fd}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.said
	if p.input, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start flood: %w", err), p.fd.Close())
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.done)
	}()
	return p, nil
}

// RunFlood starts a flood that the end of the test stops.
func RunFlood(tb testing.TB, f Flood) *Flooding {
	tb.Helper()
	p, err := StartFlood(f)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = p.Stop() })
	return p
}

// PID returns the process id.
func (p *Flooding) PID() int { return p.cmd.Process.Pid }

// Lines returns how many lines the flood has attempted to write so far.
func (p *Flooding) Lines() int64 { return p.board.lines.Load() }

// Bytes returns how many bytes were written so far.
func (p *Flooding) Bytes() int64 { return p.board.bytes.Load() }

// Lost returns how many records the full tmpfs has so far not taken, or not as a whole: writes that failed with
// ENOSPC.
func (p *Flooding) Lost() int64 { return p.board.lost.Load() }

// Phase assigns all further writes to another phase, from 0, in which a flood begins, to MaxPhases-1: before, during
// and after a fault, for instance. A write that is under way belongs to the phase in which it ends.
func (p *Flooding) Phase(n int) { p.board.phase.Store(int32(n)) }

// Latency returns how long the writes of a phase have taken so far.
func (p *Flooding) Latency(phase int) Latency { return p.board.took[phase].read() }

// mostStop is how long a flood may take to end: a writer on a frozen disk ends at the thaw.
const mostStop = 90 * time.Second

// Stop ends the writing and returns what was written. Further calls return the same.
func (p *Flooding) Stop() (FloodReport, error) {
	_ = p.input.Close() // fails only if it was called before
	select {
	case <-p.done:
	case <-time.After(mostStop):
		_ = p.cmd.Process.Kill()
		return FloodReport{}, fmt.Errorf("stop flood: the process has not ended within %s", mostStop)
	}
	_ = p.fd.Close() // likewise; the memory stays mapped
	var r FloodReport
	if !p.cmd.ProcessState.Success() {
		return r, fmt.Errorf("the flood failed: %s\n%s", p.cmd.ProcessState, p.said.String())
	}
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("read the report of the flood: %w", err)
	}
	return r, nil
}
