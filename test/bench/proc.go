package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// sidecar is a running `ullage run`.
type sidecar struct {
	*lab.Sidecar
	cmd     *exec.Cmd
	started time.Time
}

// start runs the sidecar and waits until it says that it ships.
func (b *bench) start(source, dest string, flags ...string) (*sidecar, error) {
	return launch(exec.CommandContext(b.ctx, b.ullage, arguments(source, dest, flags)...))
}

// startAlone is start with a process namespace of its own: see [lab.Alone].
func startAlone(b *bench, source, dest string, flags ...string) (*sidecar, error) {
	return launch(lab.Alone(exec.CommandContext(b.ctx, b.ullage, arguments(source, dest, flags)...)))
}

func arguments(source, dest string, flags []string) []string {
	return append([]string{"run", "--source", source, "--dest", dest, "--listen", "off", "--retain-bytes", "100Gi", "--drain-timeout", "10m"}, flags...)
}

func launch(cmd *exec.Cmd) (*sidecar, error) {
	s := &sidecar{cmd: cmd, started: time.Now()}
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

// stop ends the sidecar as Kubernetes does and waits until it has drained.
func (s *sidecar) stop() error { return s.Stop(10 * time.Minute) }

// cpu returns the CPU seconds, user and system, of a process that has ended.
func cpu(p *os.ProcessState) float64 { return (p.UserTime() + p.SystemTime()).Seconds() }

// cpuNow returns the CPU seconds of a process that runs, to a hundredth.
func cpuNow(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// Behind the name, which is in parentheses and may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return float64(user+system) / 100, errors.Join(err1, err2)
}

// switches returns how often the threads of a process have gone to sleep.
func switches(pid int) (total int, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		if m := voluntary.FindSubmatch(data); m != nil {
			n, _ := strconv.Atoi(string(m[1]))
			total += n
		}
	}
	return total, nil
}

var voluntary = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)`)

// memory returns a figure of /proc/PID/status in MiB: RssAnon or VmHWM.
func memory(pid int, key string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(key + `:\s+(\d+) kB`).FindSubmatch(data)
	if m == nil {
		return 0, fmt.Errorf("no %s in /proc/%d/status", key, pid)
	}
	kib, err := strconv.Atoi(string(m[1]))
	return float64(kib) / 1024, err
}

// peakMemory asks for the sidecar's memory, often, until it has ended, and returns the most:
// its own, without the page cache of the program.
func (s *sidecar) peakMemory() (peak float64) {
	for !s.Exited() {
		if mib, err := memory(s.PID(), "RssAnon"); err == nil {
			peak = max(peak, mib)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return peak
}

// command runs a program and returns its CPU and wall seconds.
func (b *bench) command(name string, args ...string) (cpuSeconds, wall float64, err error) {
	cmd := exec.CommandContext(b.ctx, name, args...)
	started := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return cpu(cmd.ProcessState), time.Since(started).Seconds(), nil
}

// empty removes what is in a directory, which it makes if need be, and waits
// until the disk is quiet.
func empty(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	syscall.Sync()
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// percentile returns the value below which the part p of the values is.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// seconds renders each value for a human.
func seconds(values []float64) string {
	var s []string
	for _, v := range values {
		s = append(s, fmt.Sprintf("%.2f", v))
	}
	return strings.Join(s, " ")
}

func (b *bench) path(name string) string { return filepath.Join(b.shm, name) }

// eachLine calls f with each line of r and its line end.
func eachLine(r io.Reader, f func(line []byte)) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			f(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
