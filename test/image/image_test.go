// Package image tests the sidecar's image as a node unpacks it: the program, in a root
// directory with nothing else.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// user is the user of the image.
const user = 65532

// hang is how long a test waits before it gives up. Nothing takes that long.
const hang = 3 * time.Minute

// unpacked builds the sidecar's image once and returns a root with its layers.
var unpacked = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ullage-image-*")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("../../deploy/image/build.sh", "tar", "ullage")
	cmd.Env = append(os.Environ(), "OUT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	root := filepath.Join(dir, "root")
	return root, unpack(filepath.Join(dir, "ullage.tar"), root)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if root, err := unpacked(); err == nil {
		_ = os.RemoveAll(filepath.Dir(root))
	}
	os.Exit(code)
}

// unpack writes the layers of an archive into a directory.
func unpack(archive, to string) error {
	text, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	err = eachEntry(bytes.NewReader(text), func(h *tar.Header, content []byte) error {
		files[h.Name] = content
		return nil
	})
	if err != nil {
		return err
	}
	var images []struct{ Layers []string }
	if err := json.Unmarshal(files["manifest.json"], &images); err != nil {
		return err
	}
	for _, layer := range images[0].Layers {
		plain, err := gzip.NewReader(bytes.NewReader(files[layer]))
		if err != nil {
			return err
		}
		err = eachEntry(plain, func(h *tar.Header, content []byte) error {
			path := filepath.Join(to, h.Name)
			if h.Typeflag == tar.TypeDir {
				return os.MkdirAll(path, 0o755)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return os.WriteFile(path, content, h.FileInfo().Mode())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func eachEntry(r io.Reader, do func(*tar.Header, []byte) error) error {
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := do(h, content); err != nil {
			return err
		}
	}
}

// container is a root of its own with the content of the image, a source and a destination.
type container struct {
	*testing.T
	root string
	env  []string
	log  string // of the sidecar, outside of the root
}

func newContainer(t *testing.T) *container {
	t.Helper()
	lab.NeedsRoot(t, "it runs the program of the image in a root of its own")
	image, err := unpacked()
	if err != nil {
		t.Fatalf("%v: %s", err, image)
	}
	c := &container{T: t, root: t.TempDir(), log: filepath.Join(t.TempDir(), "log")}
	// The child of a fork has every file open for a moment, even for writing. A program that is open for writing
	// cannot be run.
	syscall.ForkLock.RLock()
	err = os.CopyFS(c.root, os.DirFS(image))
	syscall.ForkLock.RUnlock()
	c.must(err)
	for _, dir := range []string{"src", "dst"} {
		c.must(os.Mkdir(filepath.Join(c.root, dir), 0o755))
		c.must(os.Chown(filepath.Join(c.root, dir), user, user))
	}
	proc := filepath.Join(c.root, "proc")
	c.must(os.Mkdir(proc, 0o755))
	c.must(unix.Mount("proc", proc, "proc", unix.MS_RDONLY, ""))
	t.Cleanup(func() { c.must(unix.Unmount(proc, unix.MNT_DETACH)) })
	for dir := c.root; dir != os.TempDir(); dir = filepath.Dir(dir) {
		c.must(os.Chmod(dir, 0o755))
	}
	return c
}

func (c *container) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// copies copies a file of the host into the root.
func (c *container) copies(from, to string) {
	c.Helper()
	text, err := os.ReadFile(from)
	c.must(err)
	c.writes(to, string(text))
}

func (c *container) writes(to, text string) {
	c.Helper()
	path := filepath.Join(c.root, to)
	c.must(os.MkdirAll(filepath.Dir(path), 0o755))
	c.must(os.WriteFile(path, []byte(text), 0o644))
}

// sidecar returns the command of a sidecar with a sink, which ends with ctx.
func (c *container) sidecar(ctx context.Context, sink string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/usr/local/bin/ullage", "run", "--source", "/src", "--dest", "/dst", "--listen", "off", "--attach", "off",
		"--sync-interval", "100ms", "--upload-age", "1s", "--drain-timeout", "1s", "--sink", sink)
	cmd.Dir, cmd.Env = "/", append([]string{}, c.env...) // without the environment of this machine
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	return cmd
}

// fails runs a sidecar and requires that it refuses its settings and reports want.
func (c *container) fails(sink, want string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), hang)
	defer cancel()
	out, err := c.sidecar(ctx, sink).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), want) {
		c.Errorf("%v, want exit code 2 and %q: %s", err, want, out)
	}
}

// runs starts the sidecar with a sink and one line to ship, waits until done accepts the log, and ends the sidecar.
func (c *container) runs(sink string, done func(log string) bool) {
	c.Helper()
	c.writes("src/gc.log", "[2026-11-22T10:00:01.000+0000][info][gc] one\n")
	c.must(os.Chown(filepath.Join(c.root, "src/gc.log"), user, user))
	log, err := os.Create(c.log)
	c.must(err)
	defer log.Close()
	ctx, cancel := context.WithTimeout(c.Context(), hang)
	defer cancel()
	cmd := c.sidecar(ctx, sink)
	cmd.Stderr, cmd.Stdout = log, log
	c.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for look := time.NewTicker(50 * time.Millisecond); ; {
		text, err := os.ReadFile(c.log)
		c.must(err)
		if done(string(text)) {
			break
		}
		select {
		case err := <-ended:
			text, _ := os.ReadFile(c.log)
			c.Fatalf("the sidecar has ended, want it running: %v\n%s", err, text)
		case <-look.C:
		}
	}
	c.must(cmd.Process.Signal(syscall.SIGTERM))
	<-ended // the exit status may say that the sink lacks lines
}

// has reports whether the log has one of these texts.
func has(texts ...string) func(string) bool {
	return func(log string) bool {
		for _, text := range texts {
			if strings.Contains(log, text) {
				return true
			}
		}
		return false
	}
}
