package attach

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// inProcesses returns a Client that searches the processes for JVMs that log into source.
func inProcesses(source string) *Client {
	cfg := testConfig("/nonexistent")
	cfg.Mode = ProcessNamespace
	return New(cfg, source)
}

func list1(t *testing.T, c *Client, j JVM) {
	t.Helper()
	if text, err := c.Run(t.Context(), j, List()); err != nil || text != listReply[2:] {
		t.Fatalf("the list is %q, error %v; want %q and no error", text, err, listReply[2:])
	}
}

func TestProcessThatDoesNotListenIsAskedToOnce(t *testing.T) {
	source, cwd := t.TempDir(), shareable(t)
	p := start(t, nil, cwd, "LOG="+source+"/gc.log")
	c := inProcesses(source)
	j := one(t, c)
	if j.PID != p.Process.Pid || j.String() != fmt.Sprintf("pid %d", p.Process.Pid) || !c.Alive(j) {
		t.Errorf(`found %v, alive: %t; want "pid %d", which is alive`, j, c.Alive(j), p.Process.Pid)
	}
	list1(t, c, j)
	list1(t, c, j)
	if again := one(t, inProcesses(source)); again.ID != j.ID {
		t.Errorf("the ID is %q, but another client sees %q", j.ID, again.ID)
	}
	if left, _ := os.ReadDir(cwd); len(left) != 0 {
		t.Errorf("files were left behind: %v, want none", left)
	}
	if n := p.end(t); n != 1 {
		t.Errorf("the process received SIGQUIT %d times, want 1", n)
	}
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NoJVM || c.Alive(j) {
		t.Errorf("after the end of the process: got the error %v, alive: %t; want an error of kind %q and false", err, c.Alive(j), NoJVM)
	}
}

func TestTriggerInTmpWhereTheWorkingDirectoryIsGone(t *testing.T) {
	source := t.TempDir()
	cwd := filepath.Join(t.TempDir(), "cwd")
	must(t, os.Mkdir(cwd, 0o777))
	p := start(t, nil, cwd, "LOG="+source+"/gc.log")
	must(t, os.Remove(cwd))
	c := inProcesses(source)
	list1(t, c, one(t, c))
	if _, err := os.Lstat(fmt.Sprintf("/tmp/.attach_pid%d", p.Process.Pid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the look-up of the trigger file returned %v, want ErrNotExist", err)
	}
}

func TestTriggerThatWasLeftBehindIsUsedAndRemoved(t *testing.T) {
	source, cwd := t.TempDir(), shareable(t)
	p := start(t, nil, cwd, "LOG="+source+"/gc.log")
	put(t, filepath.Join(cwd, fmt.Sprintf(".attach_pid%d", p.Process.Pid)), "")
	c := inProcesses(source)
	list1(t, c, one(t, c))
	if left, _ := os.ReadDir(cwd); len(left) != 0 {
		t.Errorf("files were left behind: %v, want none", left)
	}
}

func TestTriggerBelongsToTheUserOfTheJVM(t *testing.T) {
	lab.NeedsPtrace(t, "it finds a process of another user by its open files")
	source, cwd := shareable(t), shareable(t)
	p := start(t, as(12345, 12345), cwd, "LOG="+source+"/gc.log")
	c := inProcesses(source)
	list1(t, c, one(t, c))
	if n := p.end(t); n != 1 {
		t.Errorf("the process received SIGQUIT %d times, want 1", n)
	}
}

func TestProcessThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log", "QUIT=mute")
	c := inProcesses(source)
	j := one(t, c)
	for range 3 {
		if _, err := c.Run(t.Context(), j, List()); KindOf(err) != Disabled {
			t.Fatalf("got the error %v, want one of kind %q", err, Disabled)
		}
	}
	c.failed[j.ID] = time.Now().Add(-retryAfter - time.Second)
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != Disabled {
		t.Fatalf("got the error %v, want one of kind %q", err, Disabled)
	}
	if n := p.end(t); n != 2 {
		t.Errorf("the process received SIGQUIT %d times, want one before and one after the waiting time", n)
	}
}

func TestNoSignalWhereItWouldDoHarm(t *testing.T) {
	for name, env := range map[string]string{
		"not caught":        "QUIT=ignore",
		"no VM thread":      "VM=none",
		"attach disabled":   "JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism",
		"and in the others": "_JAVA_OPTIONS=-XX:+DisableAttachMechanism",
	} {
		t.Run(name, func(t *testing.T) {
			source := t.TempDir()
			p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log", env)
			c := inProcesses(source)
			if _, err := c.Run(t.Context(), one(t, c), List()); KindOf(err) != Disabled {
				t.Errorf("got the error %v, want one of kind %q", err, Disabled)
			}
			if n := p.end(t); n != 0 {
				t.Errorf("the process received SIGQUIT %d times, want none", n)
			}
		})
	}
}

// A profiler maps the library in order to read it, and a shipper has the log open.
func TestProcessThatOnlyReadsTheLibraryIsNoJVM(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log", "MAP=read", "VM=none")
	if jvms, problems := find(t, inProcesses(source)); len(jvms)+len(problems) != 0 {
		t.Errorf("found %v, with the problems %v; want no JVM and no problem", jvms, problems)
	}
	if n := p.end(t); n != 0 {
		t.Errorf("the process received SIGQUIT %d times, want none", n)
	}
}

// A process that has raised a JVM still finds that JVM after the JVM closed its log or the log was
// removed.
func TestProcessThatIsKnownIsFoundWithoutALog(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log")
	c := inProcesses(source)
	j := one(t, c)
	if err := os.Remove(filepath.Join(source, "gc.log")); err != nil {
		t.Fatal(err)
	}
	if jvms, _ := find(t, c); len(jvms) != 0 {
		t.Errorf("found %v, want no JVM", jvms)
	}
	if jvms, _ := find(t, c, j.ID); len(jvms) != 1 || jvms[0].ID != j.ID {
		t.Errorf("found %v, want the known JVM", jvms)
	}
	if Ended(j.ID) {
		t.Error("Ended is true while the process runs")
	}
	p.end(t)
	if !Ended(j.ID) {
		t.Error("Ended is false after the end of the process")
	}
}

func TestProcessThatDoesNotLogIntoTheSourceIsNotTouched(t *testing.T) {
	source := t.TempDir()
	put(t, filepath.Join(source, "gc.log"), "")
	elsewhere := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+elsewhere+"/gc.log")
	c := inProcesses(source)
	if jvms, problems := find(t, c); len(jvms)+len(problems) != 0 {
		t.Fatalf("found %v, with the problems %v; want no JVM and no problem", jvms, problems)
	}
	c.cfg.PID = p.Process.Pid
	list1(t, c, one(t, c))
	// The process now has a socket in /tmp, which must not be taken for a second JVM.
	cfg := testConfig(t.TempDir())
	must(t, os.Link("/tmp/"+socketName(p.Process.Pid), filepath.Join(cfg.Tmp, socketName(p.Process.Pid))))
	cfg.Mode = Auto
	if jvms, problems := find(t, New(cfg, source)); len(jvms)+len(problems) != 0 {
		t.Errorf("mode auto found %v, with the problems %v; want no JVM and no problem", jvms, problems)
	}
	if jvms, _ := find(t, New(cfg, elsewhere)); len(jvms) != 1 || jvms[0].host == 0 {
		t.Errorf("mode auto found %v, want the process", jvms)
	}
}

func TestProcessThatBecomesAJVM(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log", "LATE=1")
	c := inProcesses(source)
	if jvms, problems := find(t, c); len(jvms)+len(problems) != 0 {
		t.Fatalf("found %v, with the problems %v; want no JVM and no problem", jvms, problems)
	}
	must(t, p.Process.Signal(unix.SIGUSR1))
	p.expect(t, "mapped")
	for range 100 {
		if jvms, _ := find(t, c); len(jvms) == 1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the process has become a JVM, but was not found")
}

func TestProcessWhoseSocketIsThatOfAnother(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log")
	l := listen(t, "/tmp", p.Process.Pid)
	go serve(l, func(net.Conn) { t.Error("a request was sent to another process") })
	c := inProcesses(source)
	if _, err := c.Run(t.Context(), one(t, c), List()); KindOf(err) != OtherError {
		t.Errorf("got the error %v, want one of kind %q", err, OtherError)
	}
	if n := p.end(t); n != 0 {
		t.Errorf("the process received SIGQUIT %d times, want none", n)
	}
}

func TestProcessWithSomethingElseInTheSocketsPlace(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir(), "LOG="+source+"/gc.log")
	c := inProcesses(source)
	j := one(t, c)
	vacate(t, "/tmp", p.Process.Pid)
	must(t, os.Symlink("/dev/null", "/tmp/"+socketName(p.Process.Pid)))
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NotASocket {
		t.Errorf("got the error %v, want one of kind %q", err, NotASocket)
	}
	if jvms, problems := find(t, c); len(jvms) != 0 || len(problems) != 1 || KindOf(problems[0]) != NotASocket {
		t.Errorf("found %v, with the problems %v; want no JVM and 1 problem of kind %q", jvms, problems, NotASocket)
	}
}

func TestProcessInItsOwnRootAndNamespace(t *testing.T) {
	needRoot(t)
	root, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{"tmp", "src", "app"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o777))
	}
	source := filepath.Join(root, "src")
	must(t, os.Symlink("/src", filepath.Join(root, "link")))
	must(t, os.Symlink("../../../../../../../src", filepath.Join(root, "up")))
	must(t, os.Symlink(outside, filepath.Join(root, "out")))
	p := start(t, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}, "", "LOG="+source+"/gc.log", "ROOT="+root, "CWD=/app")
	c := inProcesses(source)
	j := one(t, c)
	if want := fmt.Sprintf("pid %d (1 in its container)", p.Process.Pid); j.PID != 1 || j.String() != want {
		t.Errorf("found %v with process ID %d; want %s", j, j.PID, want)
	}
	list1(t, c, j)
	if _, err := os.Lstat(filepath.Join(root, "tmp/.java_pid1")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{
		"file=/src/gc.log": true, "file=/link/gc-%p.log": true, "file=/up/gc.log": true, "file=../src/gc.log": true, "file=/app/../src/x": true,
		"file=gc.log": false, "file=" + source + "/gc.log": false, "file=/missing/gc.log": false, "file=/src/gc.log/x": false, "stdout": false,
	} {
		if got := c.Ships(j, Output{Name: name}); got != want {
			t.Errorf("%s: shipped is %v, want %v", name, got, want)
		}
	}
	if inProcesses(outside).Ships(j, Output{Name: "file=/out/gc.log"}) {
		t.Error("an output behind a link is reported as shipped, want false: the link must not lead out of the root")
	}
	cfg := testConfig(filepath.Join(root, "tmp"))
	cfg.Mode = Auto
	if both := one(t, New(cfg, source)); both.ID != j.ID {
		t.Errorf("with its socket, the JVM is %v, want %v", both, j)
	}
}
