package kernel

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// child starts a process that lives until the test ends.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func becomes(t *testing.T, pid int, want State) {
	t.Helper()
	for deadline := time.Now().Add(lab.Patience); StateOf(pid) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("state %d, want %d", StateOf(pid), want)
		}
	}
}

func TestStatesOfAProcess(t *testing.T) {
	if StateOf(os.Getpid()) != Running {
		t.Error("the state of this process is not Running")
	}
	if StateOf(1<<22+1) != Dying {
		t.Error("the state of a process that does not exist is not Dying")
	}
	cmd := child(t)
	for _, step := range []struct {
		sig  syscall.Signal
		want State
	}{{syscall.SIGSTOP, Stopped}, {syscall.SIGCONT, Running}, {syscall.SIGSTOP, Stopped}, {syscall.SIGKILL, Dying}} {
		if err := cmd.Process.Signal(step.sig); err != nil {
			t.Fatal(err)
		}
		becomes(t, cmd.Process.Pid, step.want)
	}
	_ = cmd.Wait()
	becomes(t, cmd.Process.Pid, Dying) // it is gone
}

// While a killed process ends, the kernel can show its threads in these states.
func TestStateOfAThread(t *testing.T) {
	stat := func(state, flags, pending string) string {
		return "7 (a) S (b) " + state + " 1 7 7 0 -1 " + flags + strings.Repeat(" 0", 21) + " " + pending + strings.Repeat(" 0", 21) + "\n"
	}
	for name, c := range map[string]struct {
		text         string
		first, other State
	}{
		"sleeps":                     {stat("S", "4194304", "0"), Running, Running},
		"is in a call to a disk":     {stat("D", "4194304", "0"), Running, Running},
		"... and was killed":         {stat("D", "4194304", "256"), Dying, Dying},
		"exits because of a signal":  {stat("R", "4195332", "0"), Dying, Dying},
		"exits":                      {stat("R", "4194308", "0"), Dying, Running},
		"has ended before the last":  {stat("Z", "4194316", "0"), Dying, Running},
		"is stopped":                 {stat("T", "4194304", "0"), Stopped, Stopped},
		"is stopped by a debugger":   {stat("t", "4194304", "0"), Stopped, Stopped},
		"has another signal pending": {stat("S", "4194304", "16384"), Running, Running},
		"shows nothing":              {"", Running, Running},
		"shows little":               {"7 (sleep) Z 1 7", Running, Running},
	} {
		if got := thread([]byte(c.text), true); got != c.first {
			t.Errorf("the first thread %s: state %d, want %d", name, got, c.first)
		}
		if got := thread([]byte(c.text), false); got != c.other {
			t.Errorf("another thread %s: state %d, want %d", name, got, c.other)
		}
	}
}

func TestWhetherAProcessIsThisProgram(t *testing.T) {
	if got := ProgramOf(os.Getpid()); got != Same {
		t.Errorf("this process is %d, want %d", got, Same)
	}
	if got := ProgramOf(child(t).Process.Pid); got != Other {
		t.Errorf("sleep is %d, want %d", got, Other)
	}
	if got := ProgramOf(1<<22 + 1); got != Unseen {
		t.Errorf("a process that does not exist is %d, want %d", got, Unseen)
	}
}
