package jvm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// The first Java releases with the features that tests use.
const (
	asyncLogging = 17 // -Xlog:async
	zgc          = 15 // no longer experimental
	dumpReplay   = 17 // -XX:CompileCommand=DumpReplay
)

// Set by TestMain.
var (
	kit     lab.JDK   // the oldest JDK that can compile
	jdks    []lab.JDK // one of each supported release, oldest first; in make test, two of the installed ones
	program string    // ullage
	classes string    // directory of the compiled Java programs
)

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	here := os.Getenv("ULLAGE_HERE") != "" // make test, which fetches nothing
	kits, err := lab.JDKs()
	if err != nil && here { // test/here lists it
		fmt.Println("needs JDK 17 or later")
		return 0, nil
	}
	if err != nil {
		return 0, err // a failure: without a JVM, the tests prove nothing
	}
	kit = kits[0]
	if jdks, err = lab.Runtimes(!here); err != nil {
		return 0, err
	}
	if here && len(jdks) > 2 {
		jdks = []lab.JDK{jdks[0], jdks[len(jdks)-1]}
	}
	dir, err := os.MkdirTemp("", "ullage-jvm-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for i := range jdks {
		if jdks[i].Home, err = outOfHome(jdks[i].Home, filepath.Join(dir, jdks[i].String())); err != nil {
			return 0, err
		}
	}
	if classes, err = Compile(kit, dir); err != nil {
		return 0, err
	}
	if program, err = lab.Build(dir, "ullage"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// outOfHome copies a JVM from the user's home to a directory, since tests run JVMs as users that cannot read the
// home. It returns the path of the JVM to use.
func outOfHome(java, dir string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil || !strings.HasPrefix(java, home+"/") {
		return java, nil
	}
	if err := os.CopyFS(dir, os.DirFS(java)); err != nil {
		return "", fmt.Errorf("copy a JVM: %w", err)
	}
	return dir, nil
}

const patience = lab.Patience

// each runs a test with every JDK.
func each(t *testing.T, test func(t *testing.T, jdk lab.JDK)) {
	t.Helper()
	for _, jdk := range jdks {
		t.Run(jdk.String(), func(t *testing.T) { test(t, jdk) })
	}
}

// alongside is like each, but for tests that may run in parallel with others.
func alongside(t *testing.T, test func(t *testing.T, jdk lab.JDK)) {
	t.Helper()
	alongsideFrom(t, 0, test)
}

// alongsideFrom is like alongside, but only for JDKs of the given Java release or later.
func alongsideFrom(t *testing.T, release int, test func(t *testing.T, jdk lab.JDK)) {
	t.Helper()
	t.Parallel()
	for _, jdk := range jdks {
		if jdk.Version < release {
			continue
		}
		t.Run(jdk.String(), func(t *testing.T) {
			t.Parallel()
			test(t, jdk)
		})
	}
}

// rig is a sidecar with its directories, and a JDK to run with it.
type rig struct {
	*testing.T
	jdk    lab.JDK
	source string
	dest   string
	truth  string // directory of the second outputs
	side   *lab.Sidecar
}

// newRig starts a sidecar with a tmpfs of the given size. The sidecar commits more often than by default, to keep
// the tests short.
func newRig(t *testing.T, jdk lab.JDK, tmpfs string, flags ...string) *rig {
	t.Helper()
	r := &rig{T: t, jdk: jdk, source: lab.Tmpfs(t, tmpfs), dest: t.TempDir(), truth: t.TempDir()}
	r.startSidecar(flags...)
	t.Cleanup(func() {
		r.side.Kill()
		if t.Failed() {
			t.Logf("ullage said:\n%s", r.side.Stderr())
		}
	})
	return r
}

// startSidecar starts a sidecar. An earlier sidecar must have ended.
func (r *rig) startSidecar(flags ...string) {
	r.Helper()
	args := []string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0", "--sync-interval", "200ms"}
	var err error
	r.side, err = lab.Start(program, append(args, flags...)...)
	if err != nil {
		r.Fatal(err)
	}
}

// outputs returns two flags: for an output in the source, and for a second output with the same decorations.
func (r *rig) outputs(o Output) []string {
	second := o
	second.File, second.Options = filepath.Join(r.truth, o.File), ""
	o.File = filepath.Join(r.source, o.File)
	return []string{o.Flag(), second.Flag()}
}

// start starts a JVM that is killed at the end of the test.
func (r *rig) start(flags []string, program ...string) *Process {
	r.Helper()
	return r.startIn("", flags, program...)
}

// startIn is start with a working directory.
func (r *rig) startIn(dir string, flags []string, program ...string) *Process {
	r.Helper()
	args := append([]string{"-Xmx64m", "-cp", classes}, flags...)
	p, err := StartIn(dir, r.jdk, append(args, program...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(p.Kill)
	return p
}

// run runs a JVM to its end.
func (r *rig) run(flags []string, program ...string) {
	r.Helper()
	if err := r.start(flags, program...).Wait(patience); err != nil {
		r.Fatal(err)
	}
}

// emptied waits until the source holds only the sidecar's own files. Then all its content is durable, and its
// memory is freed.
func (r *rig) emptied() {
	r.Helper()
	var left []string
	defer func() {
		if r.Failed() {
			r.Logf("left in the source: %q", left)
		}
	}()
	lab.Eventually(r, patience, "the source is empty", func() bool {
		entries, err := os.ReadDir(r.source)
		if err != nil {
			r.Fatal(err)
		}
		left = left[:0]
		for _, e := range entries {
			left = append(left, e.Name())
		}
		return len(left) == 1 && left[0] == ".ullage"
	})
}

// stop drains and ends the sidecar.
func (r *rig) stop() {
	r.Helper()
	if err := r.side.Stop(patience); err != nil {
		r.Fatal(err)
	}
}

// persisted returns the persisted lines of a stream.
func (r *rig) persisted(stream string) []byte {
	r.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, r.dest, stream); err != nil {
		r.Fatal(err)
	}
	return text.Bytes()
}

// written returns the content of a second output.
func (r *rig) written(name string) []byte {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.truth, name))
	if err != nil {
		r.Fatal(err)
	}
	if len(text) == 0 {
		r.Fatalf("the JVM wrote nothing to %s", name)
	}
	return text
}

// metric returns the value of a series.
func (r *rig) metric(series string) float64 {
	r.Helper()
	value, err := r.side.Metric(series)
	if err != nil {
		r.Fatal(err)
	}
	return value
}

// identical requires that the persisted text is identical to the written text.
func (r *rig) identical(written, persisted []byte) {
	r.Helper()
	c := Compare(written, persisted)
	r.Log(c)
	if !c.Identical {
		r.Error("the persisted text differs from the written text, want identical texts")
	}
}

// same requires that exactly the written lines were persisted, in the same order for each thread.
func (r *rig) same(written, persisted []byte) {
	r.Helper()
	c := Compare(written, persisted)
	r.Log(c)
	if !c.Same() {
		r.Error("the persisted lines differ from the written lines, want the same lines of each thread in the same order")
	}
}
