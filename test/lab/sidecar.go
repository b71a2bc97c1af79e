package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Build builds one of our programs into dir with the options of a release and returns the path of the program.
func Build(dir, name string) (string, error) {
	bin := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "github.com/ullage/ullage/cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // like `make build`: a C library takes memory
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return bin, nil
}

// Sidecar is one running process of ullage. Its methods may be called concurrently. Every Sidecar must be ended
// with Kill, with Stop, or with Wait after a signal.
type Sidecar struct {
	cmd    *exec.Cmd
	stderr tail
	done   chan struct{} // closed when the process has ended and was waited for
	addr   chan struct{} // closed once stderr has shown the address
	listen string
}

// Start runs the program with args.
func Start(bin string, args ...string) (*Sidecar, error) {
	return StartCommand(exec.Command(bin, args...))
}

// StartCommand runs a command that the caller has prepared, for instance to run as another user.
// The Sidecar reads its standard error.
func StartCommand(cmd *exec.Cmd) (*Sidecar, error) {
	s := &Sidecar{cmd: cmd, done: make(chan struct{}), addr: make(chan struct{})}
	s.stderr.seen = s.look
	cmd.Stderr = &s.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ullage: %w", err)
	}
	go func() {
		_ = cmd.Wait() // the exit code is in ProcessState
		close(s.done)
	}()
	return s, nil
}

// Alone makes a command run in its own process namespace, as in a container. Call it before the command is started.
// Otherwise the sidecar would inspect every process that starts on the machine. Only root may create a namespace; for other users,
// the command is not changed.
func Alone(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() != 0 {
		return cmd
	}
	cmd.Args = append([]string{"sh", "-c", `mount --make-rprivate / && mount -t proc proc /proc && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	return cmd
}

// listening matches the line with which `ullage run` reports that it is up.
var listening = regexp.MustCompile(` listen=(\S+)`)

// look finds the address in a line of stderr. Only one goroutine calls it.
func (s *Sidecar) look(line []byte) {
	if found := listening.FindSubmatch(line); found != nil && s.listen == "" {
		s.listen = string(found[1])
		close(s.addr)
	}
}

// PID returns the process id.
func (s *Sidecar) PID() int { return s.cmd.Process.Pid }

// Stderr returns the last 64 KiB of the process's output on stderr.
func (s *Sidecar) Stderr() string { return s.stderr.String() }

// Kill ends the process as `kill -9` does, and waits for its end. A process that is blocked in a call into a frozen
// file system ends only at the thaw: use Signal and Wait for it.
func (s *Sidecar) Kill() {
	_ = s.cmd.Process.Kill() // fails only if the process has ended
	<-s.done
}

// Signal sends a signal.
func (s *Sidecar) Signal(sig os.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("signal ullage: %w", err)
	}
	return nil
}

// Exited reports whether the process has ended.
func (s *Sidecar) Exited() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Wait waits for the end of the process and returns the exit code, or -1 if a signal ended the
// process.
func (s *Sidecar) Wait(timeout time.Duration) (code int, err error) {
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-time.After(timeout):
		return 0, fmt.Errorf("ullage has not ended within %s; it said:\n%s", timeout, s.Stderr())
	}
}

// Stop sends SIGTERM and fails unless the process drains and exits with 0.
func (s *Sidecar) Stop(timeout time.Duration) error {
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	code, err := s.Wait(timeout)
	if err == nil && code != 0 {
		err = fmt.Errorf("ullage exited with %d after SIGTERM; it said:\n%s", code, s.Stderr())
	}
	return err
}

// Addr waits until the process reports where its admin HTTP listens.
func (s *Sidecar) Addr(timeout time.Duration) (string, error) {
	select {
	case <-s.addr:
		return s.listen, nil
	case <-s.done:
		return "", fmt.Errorf("ullage ended before it listened; it said:\n%s", s.Stderr())
	case <-time.After(timeout):
		return "", fmt.Errorf("ullage does not listen after %s; it said:\n%s", timeout, s.Stderr())
	}
}

// Get requests a path, such as "/readyz", from the admin HTTP.
func (s *Sidecar) Get(path string) (status int, body string, err error) {
	addr, err := s.Addr(Patience)
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return 0, "", fmt.Errorf("ask ullage: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("ask ullage: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("ask ullage: %w", err)
	}
	return resp.StatusCode, string(text), nil
}

// client keeps no connections, because the process at an address changes.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Metric returns the value of a series, which is written as in /metrics:
// `ullage_destination_errors_total{kind="full"}`. It returns 0 for an unknown series.
func (s *Sidecar) Metric(series string) (float64, error) {
	status, body, err := s.Get("/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("ask ullage: /metrics answers %d", status)
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil
}

// PeakMemory returns the [PeakMemory] of the process.
func (s *Sidecar) PeakMemory() (int64, error) { return PeakMemory(s.PID()) }

// tailBytes is how many bytes of stderr are kept.
const tailBytes = 64 << 10

// tail keeps the last bytes that were written to it, and passes whole lines to seen.
type tail struct {
	mu   sync.Mutex
	text []byte
	line []byte // not yet ended
	seen func(line []byte)
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	t.line = append(t.line, p...)
	for {
		line, rest, whole := bytes.Cut(t.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		t.seen(line)
		t.line = rest
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
