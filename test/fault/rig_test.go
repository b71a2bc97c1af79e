package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const (
	stream    = "gc.log"
	patience  = lab.Patience
	perSecond = 5000
)

// volume is a [lab.Volume] of a test.
type volume struct {
	*lab.Volume
	t *testing.T
}

// newVolume makes and mounts a volume of 24 MiB that any user may write to.
func newVolume(t *testing.T, mkfs ...string) *volume {
	t.Helper()
	return newVolumeOf(t, "24M", mkfs...)
}

// newVolumeOf is newVolume with another size.
func newVolumeOf(t *testing.T, size string, mkfs ...string) *volume {
	t.Helper()
	return &volume{lab.MountVolume(t, size, mkfs...), t}
}

func needRoot(t *testing.T) {
	t.Helper()
	lab.NeedsRoot(t, "it mounts file systems and runs programs as other users")
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		lab.Needs(t, "mkfs.ext4 (package e2fsprogs)")
	}
}

func (v *volume) mount() {
	v.t.Helper()
	if err := v.Mount("errors=remount-ro"); err != nil {
		v.t.Fatal(err)
	}
}

// remount mounts the volume again, so that it has only the data that reached the device. No process may use the
// volume meanwhile.
func (v *volume) remount() {
	v.t.Helper()
	must(v.t, "umount", v.Dir)
	var out string
	var err error
	// When a process has ended, its mount namespace disappears a moment later, and with it the namespace's mount of
	// this device.
	lab.Eventually(v.t, patience, "nothing else uses the device", func() bool {
		out, err = command("e2fsck", "-fy", v.Loop)
		return !strings.Contains(out, "is in use")
	})
	// Exit status 1: e2fsck corrected errors of the file system.
	if err != nil && !strings.Contains(err.Error(), "exit status 1") {
		v.t.Fatalf("%v\n%s", err, out)
	}
	v.mount()
}

// fill uses all free space and returns the name of the file that uses it.
func (v *volume) fill() (ballast string) {
	v.t.Helper()
	ballast = filepath.Join(v.Dir, "ballast")
	lab.Fill(v.t, ballast)
	return ballast
}

// shorten makes the loop device end after that many bytes; 0 restores its full size.
func (v *volume) shorten(bytes uint64) {
	v.t.Helper()
	dev, err := os.OpenFile(v.Loop, os.O_RDWR, 0)
	if err != nil {
		v.t.Fatal(err)
	}
	defer dev.Close()
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	if err == nil {
		info.Sizelimit = bytes
		err = unix.IoctlLoopSetStatus64(int(dev.Fd()), info)
	}
	if err != nil {
		v.t.Fatalf("set the size of %s: %v", v.Loop, err)
	}
}

// freeze stalls all writes until thaw, or the end of the test.
func (v *volume) freeze() (thaw func()) { v.t.Helper(); return v.Frozen(v.t) }

func command(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), err
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := command(name, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// rig is a writer, a sidecar, and the source and destination of the sidecar.
type rig struct {
	*testing.T
	source, dest string
	flags        []string
	side         *lab.Sidecar
	writer       *lab.Writer
	stop         func() // the writer
}

// quick makes a sidecar commit often and into small segments.
var quick = []string{"--compress", "none", "--sync-interval", "100ms", "--segment-bytes", "256Ki"}

// newRig starts everything and waits until lines are persisted.
func newRig(t *testing.T, dest string, flags ...string) *rig {
	t.Helper()
	r := &rig{T: t, source: lab.Tmpfs(t, "64m"), dest: dest, flags: append(quick[:len(quick):len(quick)], flags...)}
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.write(1)
	r.persists(1000)
	return r
}

// write starts a writer with another seed.
func (r *rig) write(seed uint64) {
	r.Helper()
	r.writer, r.stop = lab.Write(r, lab.Output{Path: filepath.Join(r.source, stream), Seed: seed, Rate: perSecond})
}

// writes waits until the writer has written that many further lines.
func (r *rig) writes(lines int) {
	r.Helper()
	end := r.writer.Written() + lines
	lab.Eventually(r, patience, "the writer continues", func() bool { return r.writer.Written() >= end })
}

// persists waits until the sidecar has persisted that many further lines.
func (r *rig) persists(lines float64) {
	r.Helper()
	end := r.persisted() + lines
	lab.Eventually(r, patience, "lines are persisted", func() bool { return r.persisted() >= end })
}

func (r *rig) persisted() (sum float64) {
	for _, level := range []string{"info", "debug", "trace", "warning", "unknown"} {
		sum += r.metric(fmt.Sprintf(`ullage_persisted_lines_total{level="%s",stream="%s"}`, level, stream))
	}
	return sum
}

func (r *rig) metric(series string) float64 {
	r.Helper()
	value, err := r.side.Metric(series)
	if err != nil {
		r.Fatal(err)
	}
	return value
}

// turnsRed waits until /readyz gives a reason that contains the text, and requires that errors of that kind are
// counted.
func (r *rig) turnsRed(kind, reason string) {
	r.Helper()
	var body string
	defer func() {
		if r.Failed() {
			r.Logf("/readyz: %s\nthe sidecar said:\n%s", body, r.side.Stderr())
		}
	}()
	lab.Eventually(r, patience, "/readyz is red because of: "+reason, func() bool {
		status, text, err := r.side.Get("/readyz")
		body = text
		return err == nil && status == 503 && strings.Contains(text, reason)
	})
	if n := r.metric(`ullage_destination_errors_total{kind="` + kind + `"}`); n == 0 {
		r.Errorf("got 0 counted errors of kind %q, want at least 1", kind)
	}
	r.Logf("red: %s", strings.TrimSpace(body))
}

func (r *rig) turnsGreen() {
	r.Helper()
	begun := time.Now()
	defer func() {
		if r.Failed() {
			_, body, _ := r.side.Get("/readyz")
			r.Logf("/readyz: %s\nthe sidecar said:\n%s", body, r.side.Stderr())
		}
	}()
	lab.Eventually(r, patience, "/readyz is green", func() bool {
		status, _, err := r.side.Get("/readyz")
		return err == nil && status == 200
	})
	r.Logf("green again after %s", time.Since(begun).Round(10*time.Millisecond))
}

// balances stops the writer, then the sidecar, and compares.
func (r *rig) balances() {
	r.Helper()
	r.stop()
	if err := r.side.Stop(2 * patience); err != nil {
		r.Error(err)
	}
	r.compare()
}

func (r *rig) compare() {
	r.Helper()
	balance, err := lab.Check(r.dest, stream, r.writer)
	if err != nil || !balance.Exact() {
		r.Errorf("the balance is %v, error: %v; want an exact balance and no error; the sidecar said:\n%s", balance, err, r.side.Stderr())
	}
	balanced(r.T, balance, r.writer.Slowest())
	r.Logf("%v; slowest write %s", balance, r.writer.Slowest())
}
