package attach

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The path to the socket of a visible process leads through /proc and vanishes with the process.
// The Witness nevertheless determines how the process ended.
func TestHowAProcessEndedIsSeenByItsSocket(t *testing.T) {
	remove := func(t *testing.T, path string, _ *Witness) { must(t, os.Remove(path)) }
	for name, c := range map[string]struct {
		before func(t *testing.T, path string, w *Witness)
		how    string
	}{
		"it leaves its socket":  {func(*testing.T, string, *Witness) {}, Killed},
		"it removes its socket": {remove, Exited},
		"it removes its socket, is checked and ends": {func(t *testing.T, path string, w *Witness) {
			must(t, os.Remove(path))
			stays(t, w)
			stays(t, w)
		}, Exited},
		"another process removes the socket": {func(t *testing.T, path string, w *Witness) {
			must(t, os.Remove(path))
			stays(t, w)
			w.lost = w.lost.Add(-2 * orderlyEnd)
			stays(t, w)
		}, ""},
		"another process removes the socket, and the JVM makes a new one": {func(t *testing.T, path string, w *Witness) {
			must(t, os.Remove(path))
			stays(t, w)
			w.lost = w.lost.Add(-2 * orderlyEnd)
			list1(t, w.client, w.jvm)
			stays(t, w)
		}, Killed},
		"another process puts its socket there": {func(t *testing.T, path string, w *Witness) {
			must(t, os.Remove(path))
			listen(t, "/tmp", w.jvm.PID)
			stays(t, w)
			w.lost = w.lost.Add(-2 * orderlyEnd)
			stays(t, w)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			source := t.TempDir()
			p := start(t, nil, shareable(t), "LOG="+source+"/gc.log")
			client := inProcesses(source)
			j := one(t, client)
			list1(t, client, j)
			w := client.Witness(j)
			defer w.Close()
			stays(t, w)
			c.before(t, "/tmp/"+socketName(p.Process.Pid), w)
			p.end(t)
			if how, gone := w.Gone(); !gone || how != c.how {
				t.Errorf("got %q, gone %v; want %q", how, gone, c.how)
			}
		})
	}
}

// stays fails the test if the run has already ended.
func stays(t *testing.T, w *Witness) {
	t.Helper()
	if how, gone := w.Gone(); gone {
		t.Errorf("the run has already ended: %q; want it to run", how)
	}
}

// A process that never listened leaves no sign of how it ended.
func TestHowAProcessWithoutASocketEndedIsNotKnown(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, shareable(t), "LOG="+source+"/gc.log")
	client := inProcesses(source)
	w := client.Witness(one(t, client))
	defer w.Close()
	stays(t, w)
	p.end(t)
	if how, gone := w.Gone(); !gone || how != "" {
		t.Errorf(`got %q, gone %v; want "" and true`, how, gone)
	}
}

// The descriptor keeps the file system of an ended container busy.
func TestAWitnessHoldsADescriptorUntilItIsClosed(t *testing.T) {
	source := t.TempDir()
	start(t, nil, shareable(t), "LOG="+source+"/gc.log")
	client := inProcesses(source)
	j := one(t, client)
	list1(t, client, j)
	w := client.Witness(j)
	fd := w.socket.fd
	for range 3 {
		stays(t, w)
	}
	w.Close()
	w.Close()
	if _, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
		t.Error("the descriptor is still open, want it closed")
	}
}

// The kernel reports to the holder of a descriptor how a process ended.
func TestTheKernelTellsHowAProcessEnded(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		exited  int // exit code; -1: the process was ended by a signal
		signal  unix.Signal
	}{
		"an exit code": {"exit 3", 3, -1},
		"exit code 0":  {"exit 0", 0, -1},
		"a signal":     {"kill -ABRT $$", -1, unix.SIGABRT},
		"killed":       {"kill -KILL $$", -1, unix.SIGKILL},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", "read line; "+c.command)
			in, err := cmd.StdinPipe()
			must(t, err)
			must(t, cmd.Start())
			start, err := startTime(cmd.Process.Pid)
			must(t, err)
			w := (&Client{}).Witness(JVM{PID: cmd.Process.Pid, host: cmd.Process.Pid, start: start})
			defer w.Close()
			if status, ok := w.Status(); ok {
				t.Errorf("a running process has the status %d, want none", status)
			}
			_, err = io.WriteString(in, "\n")
			must(t, err)
			_ = cmd.Wait()
			status, ok := w.Status()
			if !ok {
				t.Skipf("the kernel does not report it: it is older than Linux 6.15")
			}
			if status.ExitStatus() != c.exited || status.Signal() != c.signal {
				t.Errorf("exit code %d and signal %v, want %d and %v", status.ExitStatus(), status.Signal(), c.exited, c.signal)
			}
			w.Close()
			if _, ok := w.Status(); ok {
				t.Error("a closed Witness has a status, want none")
			}
		})
	}
}
