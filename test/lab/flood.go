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

// Flood describes the output of a process that simulates a JVM: the [Records] of a seed, appended to one file
// without rotation, as with the injected -Xlog, or to a file that is rotated as HotSpot does. If the tmpfs is
// full, the process behaves like HotSpot: it neither waits nor fails. The record is cut where the last page ends,
// further records are lost, and the first record that fits again is glued to the cut one without a newline.
// Meanwhile there is no rotation.
type Flood struct {
	Path string // of the file, for instance "/source/gc.log"
	Seed uint64 // of the records
	Rate int64  // bytes a second; 0 means as fast as possible. A delayed writer does not catch up.

	Files     int   // filecount; 0: no rotation
	FileBytes int64 // filesize; 0: no rotation
}

// Loss is a series of consecutive records that a full tmpfs did not take.
type Loss struct {
	Record  uint64 // the index of the first record
	Records uint64 // the number of records
	Written int    // bytes of the first record that are in the file; the file has no byte of the others
}

// FloodReport describes the output of a flood. The written bytes can be generated again from it.
type FloodReport struct {
	Seed    uint64
	Records uint64 // attempted
	Lines   uint64 // in these records
	Bytes   int64  // in the file
	Losses  []Loss // in order
}

// MaxPhases is the number of phases that a flood can distinguish.
const MaxPhases = 8

// Flooding is the running process of a [Flood]. It is a separate process, in which one thread writes, so that neither
// the scheduler nor the garbage collector of the test affects the measured times. Every Flooding must be ended with
// Stop. All methods except Stop may be called concurrently.
type Flooding struct {
	cmd   *exec.Cmd
	input io.Closer
	out   bytes.Buffer // may be read once done is closed
	said  bytes.Buffer // likewise
	done  chan struct{}
	board *board
	fd    *os.File
}

// StartFlood starts the process. The process runs this program again, so the program must call
// [BeFlood], as [Main] does.
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

// RunFlood starts a flood that is stopped at the end of the test.
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

// Bytes returns how many bytes the flood has written so far.
func (p *Flooding) Bytes() int64 { return p.board.bytes.Load() }

// Lost returns how many records a full tmpfs has not taken completely so far: writes that failed with ENOSPC.
func (p *Flooding) Lost() int64 { return p.board.lost.Load() }

// Phase begins another phase, for instance for the time during or after a fault: later writes belong to it. Phases
// are numbered from 0, in which a flood begins, to MaxPhases-1. A write that is in progress belongs to the phase in
// which it ends.
func (p *Flooding) Phase(n int) { p.board.phase.Store(int32(n)) }

// Latency returns how long the writes of a phase have taken so far.
func (p *Flooding) Latency(phase int) Latency { return p.board.took[phase].read() }

// mostStop is how long a flood may take to end: a writer on a frozen disk ends at the thaw.
const mostStop = 90 * time.Second

// Stop ends the writing and returns what was written. Further calls return the same.
func (p *Flooding) Stop() (FloodReport, error) {
	_ = p.input.Close() // fails only if Stop was called before
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
