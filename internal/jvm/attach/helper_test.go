package attach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The tests also start the test binary itself: as a process that answers attach requests as HotSpot
// does, or as a client of another user.
const (
	roleVar  = "ATTACH_TEST_ROLE"
	raceExit = "GORACE=atexit_sleep_ms=0"
)

func TestMain(m *testing.M) {
	unix.Umask(0o022)                     // processes of other users share files
	_ = os.Chmod("/proc/self/exe", 0o755) // and run this program, which was built with another mask
	switch os.Getenv(roleVar) {
	case "jvm":
		if err := standIn(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "client":
		cfg := DefaultConfig()
		cfg.Mode, cfg.Tmp = SharedTmp, os.Getenv("TMP")
		fmt.Println(tryAll(New(cfg, "/nonexistent")))
	default:
		goleak.VerifyTestMain(m)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tryAll runs List in every JVM that is found and returns the last error or problem.
func tryAll(c *Client) (Kind, error) {
	jvms, problems := c.Find(context.Background())
	for _, p := range problems {
		return KindOf(p), p
	}
	for _, j := range jvms {
		if _, err := c.Run(context.Background(), j, List()); err != nil {
			return KindOf(err), err
		}
	}
	return "", nil
}

// standin is a running process that imitates a JVM.
type standin struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	ended bool
}

// start starts the test binary in a role and waits until it is ready.
func start(t *testing.T, attr *syscall.SysProcAttr, dir string, env ...string) *standin {
	t.Helper()
	lib := filepath.Join(shareable(t), "libjvm.so")
	put(t, lib, strings.Repeat("x", 4096))
	p := &standin{Cmd: exec.Command("/proc/self/exe")}
	p.Env = append([]string{roleVar + "=jvm", "LIB=" + lib, raceExit}, env...)
	p.SysProcAttr, p.Dir, p.Stderr = attr, dir, os.Stderr
	in, err1 := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	p.in, p.out = in, bufio.NewReader(out)
	must(t, p.Start())
	t.Cleanup(func() {
		p.end(t)
		os.Remove("/tmp/" + socketName(p.Process.Pid))
	})
	p.expect(t, "ready")
	// A killed JVM that had the same process ID may have left its socket, which may belong to another user.
	os.Remove("/tmp/" + socketName(p.Process.Pid))
	return p
}

func (p *standin) expect(t *testing.T, want string) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); err != nil || line != want+"\n" {
		t.Fatalf("the process printed %q, error %v; want %q", line, err, want)
	}
}

// end ends the process and returns how many times it received SIGQUIT.
func (p *standin) end(t *testing.T) int {
	t.Helper()
	if p.ended {
		return 0
	}
	p.ended = true
	p.in.Close()
	line, _ := p.out.ReadString('\n')
	if err := p.Wait(); err != nil {
		t.Errorf("the process failed: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Errorf("the process printed %q at its end, want a number", line)
	}
	return n
}

// shareable returns a directory to which other users can write.
func shareable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attach")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o666))
}

func needRoot(t *testing.T) {
	t.Helper()
	lab.NeedsRoot(t, "it starts processes as other users or in other roots")
}

// testConfig returns a Config that searches only tmp, with a short timeout.
func testConfig(tmp string) Config {
	return Config{Mode: SharedTmp, Tmp: tmp, Timeout: 500 * time.Millisecond}
}

// listen creates a listening socket in tmp, at a path of any length.
func listen(t *testing.T, tmp string, pid int) *net.UnixListener {
	t.Helper()
	dir, err := os.Open(tmp)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	vacate(t, tmp, pid)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName(pid))})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	return l
}

// vacate removes what an earlier process with the same process ID left in the place of the socket. At the end of the
// test, it removes what the test left there.
func vacate(t *testing.T, tmp string, pid int) {
	t.Helper()
	path := filepath.Join(tmp, socketName(pid))
	_ = os.Remove(path)
	t.Cleanup(func() { _ = os.Remove(path) })
}

// find looks for JVMs. Other JVMs may run on the machine, and this process may lack access to them. So find leaves out
// the problems of kind NotPermitted about processes that the test did not start.
func find(t *testing.T, c *Client, known ...string) ([]JVM, []error) {
	t.Helper()
	jvms, problems := c.Find(t.Context(), known...)
	return jvms, slices.DeleteFunc(problems, func(err error) bool {
		var e *Error
		var pid int
		if !errors.As(err, &e) || e.Kind != NotPermitted {
			return false
		}
		_, err = fmt.Sscanf(e.JVM, "pid %d", &pid)
		text, _ := readProc(pid, "status")
		return err == nil && !strings.Contains(text, fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
	})
}

// one returns the only JVM that is found.
func one(t *testing.T, c *Client) JVM {
	t.Helper()
	jvms, problems := find(t, c)
	if len(jvms) != 1 || len(problems) != 0 {
		t.Fatalf("found %v, problems %v; want one JVM", jvms, problems)
	}
	return jvms[0]
}
