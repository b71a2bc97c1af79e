package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// measure runs a program to its end and returns its wall time, CPU time and peak memory.
func measure(ctx context.Context, name string, args ...string) (figures, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done, peak := make(chan struct{}), make(chan float64)
	go func() { peak <- peakMemory(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	wall := time.Since(started).Seconds()
	close(done)
	mib := <-peak
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", name, err, &out)
	}
	return figures{"wall": wall, "cpu": cpu(cmd.ProcessState), "peak": mib}, nil
}

// cpu returns the user and system seconds of a process that has ended.
func cpu(p *os.ProcessState) float64 { return (p.UserTime() + p.SystemTime()).Seconds() }

var voluntary = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)`)

// switches returns how often the threads of a process have gone to sleep.
func switches(pid int) (total int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is well-formed
	for _, file := range files {
		text, _ := os.ReadFile(file) // empty for a thread that has ended
		if m := voluntary.FindSubmatch(text); m != nil {
			n, _ := strconv.Atoi(string(m[1])) // digits, by the expression
			total += n
		}
	}
	return total
}

// memory returns lab.Memory in MiB, or 0 if the process has ended.
func memory(pid int) float64 {
	bytes, _ := lab.Memory(pid)
	return float64(bytes) / (1 << 20)
}

// peakMemory samples the memory of a process until done is closed and returns the largest value in
// MiB.
func peakMemory(pid int, done <-chan struct{}) (peak float64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		peak = max(peak, memory(pid))
		select {
		case <-done:
			return peak
		case <-tick.C:
		}
	}
}

// shipper is a running contestant.
type shipper struct {
	*lab.Sidecar
	cmd     *exec.Cmd
	crashed bool // the process has ended by itself
}

// ship starts a sidecar, and waits until it is up.
func (e *evidence) ship(source, dest string, flags ...string) (*shipper, error) {
	args := append([]string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--retain-bytes", "100Gi", "--drain-timeout", "10m"}, flags...)
	s := &shipper{cmd: exec.CommandContext(e.ctx, e.ullage, args...)}
	var err error
	if s.Sidecar, err = lab.StartCommand(s.cmd); err != nil {
		return nil, err
	}
	if _, err := s.Addr(10 * time.Second); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// fresh makes an empty directory on tmpfs or on the disk.
func fresh(parts ...string) (string, error) {
	dir := filepath.Join(parts...)
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// lines counts the lines of a log, and the messages that HotSpot reports as dropped.
type lines struct{ count, dropped float64 }

var dropped = regexp.MustCompile(`(\d+) messages dropped due to async logging`)

func (l *lines) read(r *bufio.Reader) error {
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			l.count++
		}
		if m := dropped.FindSubmatch(line); m != nil {
			n, _ := strconv.ParseFloat(string(m[1]), 64) // digits, by the expression
			l.dropped += n
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}
