package fault

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

const tenantID = 65534 // the user of the application, and so of the sidecar

// A hostile process of the application attacks the source of an honest writer. The honest stream stays exact, even
// across a restart. The sidecar touches nothing outside the two directories, and its memory is bounded.
func TestHostileTenant(t *testing.T) {
	needRoot(t)
	mount := lab.Tmpfs(t, "64m")
	outside := newCanary(t, filepath.Join(mount, "outside"))
	r := &rig{T: t, source: filepath.Join(mount, "source"), dest: filepath.Join(t.TempDir(), "dest"), flags: []string{"--sync-interval", "100ms"}}
	for _, dir := range []string{r.source, r.dest} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		must(t, "chown", fmt.Sprint(tenantID), dir)
		if err := os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *lab.Sidecar {
		side := runAs(t, tenantID, append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)...)
		memory.except(side.PID())
		return side
	}
	r.side = start()
	// The sidecar can punch holes only into a file of its own user, as in a pod, where the JVM has
	// that user.
	honest := filepath.Join(r.source, stream)
	if err := os.WriteFile(honest, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "chown", fmt.Sprint(tenantID), honest)
	r.write(1)
	r.persists(1000)
	stopTenant := startTenant(t, r, outside)
	half := long(30*time.Second, 4*time.Second)
	peak := r.endures(half)
	r.side.Kill()
	said := r.side.Stderr()
	defer func() {
		if t.Failed() {
			t.Logf("the killed sidecar said:\n%s", said)
		}
	}()
	r.side = start()
	peak = max(peak, r.endures(half))
	lab.Eventually(t, patience, "the sidecar reads the tenant's rings", func() bool {
		return counted(r, "ullage_events_total") != "" && counted(r, "ullage_event_ring_errors_total") != ""
	})
	stopTenant()
	outside.check(t)
	t.Logf("at most %.1f MiB of memory; ignored: %s", float64(peak)/(1<<20), counted(r, "ullage_source_ignored_files"))
	events, errors := counted(r, "ullage_events_total"), counted(r, "ullage_event_ring_errors_total")
	t.Logf("events: %s; errors of rings: %s", events, errors)
	if peak > mostMemoryOfMany {
		t.Errorf("the sidecar took %d bytes of memory, want at most %d", peak, mostMemoryOfMany)
	}
	r.balances()
	outside.check(t)
	strangers(t, r.dest)
}

// endures waits for d, checks that the sidecar still runs and persists, and returns its peak
// memory.
func (r *rig) endures(d time.Duration) (peak int64) {
	r.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.persists(1)
		if now, err := r.side.PeakMemory(); err == nil {
			peak = max(peak, now)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if r.side.Exited() {
		r.Fatalf("the sidecar has ended, want it running; it said:\n%s", r.side.Stderr())
	}
	return peak
}

// startTenant starts the tenant as a process.
func startTenant(t *testing.T, r *rig, c *canary) (stop func()) {
	t.Helper()
	victims := []string{
		c.file, "/proc/self/mem", "/proc/1/environ", "/proc/kmsg", "/dev/zero", "/etc/passwd",
		fmt.Sprintf("/proc/%d/fd/1", r.side.PID()), filepath.Join(r.dest, ".ullage/key"), filepath.Join(r.dest, ".ullage/lock"),
		filepath.Join(r.source, ".ullage/checkpoint-0"), filepath.Join(r.dest, stream),
	}
	segments, err := lab.Segments(r.dest, stream)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), tenantEnv+"="+r.source, tenantEnv+"_VICTIMS="+strings.Join(slices.Concat(victims, segments), ":"))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: tenantID, Gid: tenantID}, Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			if _ = cmd.Wait(); said.Len() > 0 {
				t.Errorf("the tenant said: %s, want nothing", said.String())
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// counted returns the nonzero values of a metric, with their labels.
func counted(r *rig, metric string) string {
	_, text, err := r.side.Get("/metrics")
	if err != nil {
		r.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, metric+"{"); ok && !strings.HasSuffix(rest, " 0\n") {
			found = append(found, "{"+strings.TrimSpace(rest))
		}
	}
	return strings.Join(found, " ")
}

// strangers fails the test if the destination contains anything except the sidecar's own files and streams.
func strangers(t *testing.T, dest string) {
	t.Helper()
	entries, err := os.ReadDir(dest)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		known := name == ".ullage" || name == stream || name == mark.Stream || name == "endless.log" || (strings.HasPrefix(name, "evil-") || strings.HasPrefix(name, "events-")) && strings.HasSuffix(name, ".log")
		if !known || !e.IsDir() {
			t.Errorf("%s is in the destination: %s; want only directories of known streams", name, e.Type())
		}
	}
}

// canary is a file that no process has a reason to touch. It has the same owner and is on the same file system as the
// source, so that it can be linked. The test notices any read of it.
type canary struct {
	file   string
	was    unix.Stat_t
	notify int
}

func newCanary(t *testing.T, dir string) *canary {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := &canary{file: filepath.Join(dir, "canary.log")}
	if err := os.WriteFile(c.file, bytes.Repeat([]byte("[0.001s][info][gc] canary\n"), 10_000), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "chown", "-R", fmt.Sprint(tenantID), dir)
	if err := unix.Stat(c.file, &c.was); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.notify, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(c.notify) })
	for _, path := range []string{dir, c.file} {
		if _, err := unix.InotifyAddWatch(c.notify, path, unix.IN_ACCESS|unix.IN_MODIFY|unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// check fails the test if the canary was read or changed.
func (c *canary) check(t *testing.T) {
	t.Helper()
	if n, err := unix.Read(c.notify, make([]byte, 64<<10)); err != unix.EAGAIN {
		t.Errorf("a file outside of both directories was read or changed: %d bytes of events, error: %v; want no events and EAGAIN", n, err)
	}
	var is unix.Stat_t
	if err := unix.Stat(c.file, &is); err != nil || is.Size != c.was.Size || is.Blocks != c.was.Blocks || is.Mtim != c.was.Mtim || is.Mode != c.was.Mode {
		t.Errorf("a file outside of both directories has changed: got %+v, want %+v as before, error: %v", is, c.was, err)
	}
}
