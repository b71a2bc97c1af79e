package fault

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// server is a destination that a process serves by FUSE, as an NFS server does. While the process is stopped, no call
// into the destination returns, not even a stat.
type server struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

func newServer(t *testing.T) *server {
	t.Helper()
	needRoot(t)
	if _, err := exec.LookPath("bindfs"); err != nil {
		lab.Needs(t, "bindfs")
	}
	s := &server{t: t, dir: filepath.Join(t.TempDir(), "served")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// No attribute is cached: each stat asks the server.
	s.cmd = exec.Command("bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", t.TempDir(), s.dir)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = unix.Unmount(s.dir, unix.MNT_DETACH)
	})
	lab.Eventually(t, patience, "the file system is served", func() bool {
		var st unix.Statfs_t
		return unix.Statfs(s.dir, &st) == nil && st.Type == unix.FUSE_SUPER_MAGIC
	})
	return s
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// The destination does not answer when the sidecar starts, either for the first time or again with a checkpoint. The
// sidecar still reads, moves and drops lines, and answers requests. It is killed with kill -9 meanwhile, and every
// line is accounted for.
func TestDestinationIsSilentAtTheStart(t *testing.T) {
	rows := newStallTable("A destination that does not answer at the start")
	defer rows.Print(t)
	for _, first := range []bool{true, false} {
		name := map[bool]string{true: "first start", false: "restart"}[first]
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			rows.Add(silent(t, s.dir, name, func() { s.signal(syscall.SIGSTOP) }, func() { s.signal(syscall.SIGCONT) })...)
		})
	}
	// A frozen disk can be read, but not written to.
	t.Run("frozen", func(t *testing.T) {
		v := newVolumeOf(t, "2G")
		var thaw func()
		rows.Add(silent(t, v.Dir, "first start, frozen", func() { thaw = v.freeze() }, func() { thaw() })...)
	})
}

// silent starts a sidecar while the destination is stopped, kills the sidecar in the middle, and resumes the
// destination.
func silent(t *testing.T, dir, begin string, stop, resume func()) (row []any) {
	duration := long(20*time.Second, 3*time.Second)
	f := freezing{rate: 50e6, frozen: duration, fault: begin + ", kill -9"}
	r := &stall{T: t, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(dir, "dest")}
	first := strings.HasPrefix(begin, "first start")
	if first {
		stop()
	}
	r.start()
	if _, err := r.side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	r.begun = time.Now()
	r.flood = lab.RunFlood(t, lab.Flood{Path: filepath.Join(r.source, stream), Seed: 7, Rate: f.rate})
	if !first {
		lab.Eventually(t, patience, "lines are persisted", func() bool {
			n, err := r.side.Metric(`ullage_persisted_bytes_total{stream="` + stream + `"}`)
			return err == nil && n > 0
		})
		stop()
		r.restart(patience)
	}
	r.flood.Phase(within)
	end := time.Now().Add(duration)
	r.answersUntil(time.Now().Add(duration / 2))
	r.restart(time.Until(end))
	r.answersUntil(end)
	if strings.Contains(r.side.Stderr(), "waiting for the owner of the source") {
		t.Error("the new sidecar waited for the killed one while the writer continued, want no wait")
	}
	if status, body, err := r.side.Get("/readyz"); err != nil || status != 503 {
		t.Errorf("/readyz while the destination is silent: %d %s, error %v; want 503 and no error", status, body, err)
	}
	resume()
	r.flood.Phase(after)
	return r.account(f, r.comesBack(nothing))
}

// restart kills the sidecar and starts another one at once, as the kubelet
// does. The kernel may hold the old one until the destination is back.
func (r *stall) restart(within time.Duration) {
	r.Helper()
	r.remember()
	if err := r.side.Signal(unix.SIGKILL); err != nil {
		r.Fatal(err)
	}
	_, _ = r.side.Wait(50 * time.Millisecond)
	r.again(time.Now().Add(within))
}

// If there is nothing to ship, the terminated sidecar does not wait. Otherwise it reports what is left when
// --drain-timeout is over.
func TestTerminatedWhileTheDestinationIsSilent(t *testing.T) {
	s := newServer(t)
	s.signal(syscall.SIGSTOP)
	r := &stall{T: t, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(s.dir, "dest"), flags: []string{"--drain-timeout", "1s"}}
	for _, c := range []struct {
		log  string
		code int
	}{{"", 0}, {"[0.001s][info][gc] a line\n", 1}} {
		if err := os.WriteFile(filepath.Join(r.source, stream), []byte(c.log), 0o644); err != nil {
			t.Fatal(err)
		}
		r.start()
		if _, err := r.side.Addr(patience); err != nil {
			t.Fatal(err)
		}
		if err := r.side.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(t, patience, "the sidecar ends or gives up", func() bool { return r.side.Exited() || strings.Contains(r.side.Stderr(), "not drained within 1s: ") })
		if said := strings.Contains(r.side.Stderr(), "26 bytes"); said != (c.code != 0) {
			t.Errorf("with the log %q the sidecar said the following, want \"26 bytes\" in it: %t\n%s", c.log, c.code != 0, r.side.Stderr())
		}
		// A call into a server that does not answer can hold the process.
		if code, err := r.side.Wait(time.Second); err == nil && code != c.code {
			t.Errorf("with the log %q: exit code %d, want %d", c.log, code, c.code)
		}
	}
}
