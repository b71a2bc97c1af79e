package crash

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// longerThanPatience is longer than the time after which a sidecar takes over the source from a process that holds
// the lock but shows no sign of life.
const longerThanPatience = 12 * time.Second

// A second sidecar on a source waits, and reports that it waits, while the first lives. However the first ends,
// the second continues after its last line.
func TestASecondSidecarWaitsForTheEndOfTheFirst(t *testing.T) {
	for name, c := range map[string]struct {
		end       syscall.Signal
		lasts     time.Duration // until the first ends
		stopped   bool          // the first is stopped during that time
		elsewhere bool          // the second has its own PID namespace, and cannot see the first
	}{
		"killed":                           {syscall.SIGKILL, 0, false, false},
		"terminated":                       {syscall.SIGTERM, 0, false, false},
		"stopped for a while":              {syscall.SIGTERM, longerThanPatience, true, false},
		"killed, in another PID namespace": {syscall.SIGKILL, longerThanPatience, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, dest := lab.Tmpfs(t, "64m"), t.TempDir()
			writer, stop := lab.Write(t, lab.Output{Path: filepath.Join(source, stream(0)), Seed: 3, Rate: 200})
			first := lab.Run(t, source, dest)
			ready(t, first)
			second := waiting(t, source, dest, c.elsewhere)
			if err := waiting(t, source, dest, c.elsewhere).Stop(lab.Patience); err != nil {
				t.Errorf("a waiting sidecar did not stop: %v", err)
			}
			if c.stopped {
				signal(t, first, syscall.SIGSTOP)
			}
			time.Sleep(c.lasts)
			if strings.Contains(second.Stderr(), "source directory opened") || second.Exited() {
				t.Errorf("the second sidecar did not wait; it said\n%s", second.Stderr())
			}
			if c.stopped {
				signal(t, first, syscall.SIGCONT)
			}
			signal(t, first, c.end)
			ended := time.Now()
			ready(t, second)
			t.Logf("the second sidecar is ready %s later", time.Since(ended).Round(time.Millisecond))
			stop()
			drain(t, second)
			if balance, err := lab.Check(dest, stream(0), writer); err != nil || !balance.Exact() {
				t.Errorf("%v, error %v; want an exact balance and no error", balance, err)
			}
			if n := strings.Count(second.Stderr(), "waiting for the owner of the source"); n != 1 {
				t.Errorf("the second sidecar reported %d times that it waits, want once", n)
			}
		})
	}
}

// waiting starts another sidecar and waits until it reports that it waits for the source.
func waiting(t *testing.T, source, dest string, elsewhere bool) *lab.Sidecar {
	t.Helper()
	cmd := exec.Command(lab.Binary(), "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0")
	if elsewhere {
		lab.NeedsRoot(t, "the sidecar gets a PID namespace of its own")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	}
	side, err := lab.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	lab.Eventually(t, lab.Patience, "the sidecar says that it waits", func() bool {
		code, body, err := side.Get("/readyz")
		_, status, _ := side.Get("/status")
		return err == nil && code == 503 && strings.Contains(body, "owns the source") && strings.Contains(status, "owns the source") &&
			strings.Contains(side.Stderr(), "waiting for the owner of the source")
	})
	return side
}

func signal(t *testing.T, side *lab.Sidecar, sig syscall.Signal) {
	t.Helper()
	if err := side.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func ready(t *testing.T, side *lab.Sidecar) {
	t.Helper()
	lab.Eventually(t, lab.Patience, "the sidecar is ready", func() bool {
		code, _, err := side.Get("/readyz")
		return err == nil && code == 200
	})
}
