package jvm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// A second JVM logs to the same file name. With filecount=0 it truncates the file, otherwise it renames the old
// file.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, filecount := range []string{"filecount=0", "filecount=3"} {
		for name, end := range map[string]func(*rig, *Process){"exit": exit, "kill": kill} {
			t.Run(filecount+" "+name, func(t *testing.T) {
				alongside(t, func(t *testing.T, jdk lab.JDK) { testRestart(t, jdk, filecount, end) })
			})
		}
	}
}

func exit(r *rig, p *Process) {
	if err := p.Wait(patience); err != nil {
		r.Fatal(err)
	}
}

// kill kills the JVM while it writes.
func kill(r *rig, p *Process) {
	lab.Eventually(r, patience, "half a megabyte is written", func() bool {
		return size(r, filepath.Join(r.truth, "first.log")) > 512<<10
	})
	p.Kill()
}

func testRestart(t *testing.T, jdk lab.JDK, filecount string, end func(*rig, *Process)) {
	r := newRig(t, jdk, "64m")
	file := filepath.Join(r.source, "gc.log")
	flags := func(second string) []string {
		one := Output{Selection: debug, File: file, Options: filecount}
		two := Output{Selection: debug, File: filepath.Join(r.truth, second)}
		return []string{one.Flag(), two.Flag(), "-XX:+UseSerialGC", "-Xmn2m"}
	}
	first := r.start(flags("first.log"), "Churn", "1200", "300")
	end(r, first)
	// An open writer keeps the sidecar from unlinking the file before it is used again.
	hold, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := size(r, file)
	if filecount == "filecount=0" { // the truncation removes everything that was not read yet
		lab.Eventually(t, patience, "the first life is committed", func() bool {
			return r.metric(`ullage_persisted_bytes_total{stream="gc.log"}`) == float64(written)
		})
	}
	r.run(flags("second.log"), "Churn", "800", "300")
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	r.emptied()
	truncations := r.metric("ullage_source_truncations_total")
	r.stop()
	if want := map[string]float64{"filecount=0": 1, "filecount=3": 0}[filecount]; truncations != want {
		t.Errorf("%v truncations, want %v", truncations, want)
	}
	persisted := r.persisted("gc.log")
	before := persisted[:min(written, int64(len(persisted)))]
	r.cutOff(r.written("first.log"), before)
	r.identical(r.written("second.log"), persisted[len(before):])
}

// cutOff requires that the persisted text is the text of a JVM's second output. A killed JVM may have written one
// more message to the first output, which is in the source.
func (r *rig) cutOff(written, persisted []byte) {
	r.Helper()
	more, ok := bytes.CutPrefix(persisted, written)
	if !ok {
		r.identical(written, persisted)
		return
	}
	r.Logf("%d lines, byte-identical, and %d bytes more in the output in the source", bytes.Count(written, newline), len(more))
	headers := 0
	for line := range bytes.Lines(more) {
		if isHeader(line) {
			headers++
		}
	}
	if headers > 1 {
		r.Errorf("more than one message was persisted in addition, want at most one: %.2000q", more)
	}
}

func size(r *rig, path string) int64 {
	r.Helper()
	stat, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		r.Fatal(err)
	}
	return stat.Size()
}

// A JVM is killed while it logs. All that it wrote is persisted, and the memory of its file is freed.
func TestKilledJVM(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		flags := append(r.outputs(Output{Selection: "exceptions=info", File: "first.log"}), "-XX:+UseSerialGC")
		kill(r, r.start(flags, "Throw", "1000000", "20000", "1000"))
		r.emptied()
		r.stop()
		r.cutOff(r.written("first.log"), r.persisted("first.log"))
	})
}

// A message of 20,000 bytes takes five writes. A limit on the size of files ends both outputs at
// the same byte, as a full tmpfs would, in the middle of a line; then the JVM is killed. The
// unterminated last line is persisted, with a newline that separates it from the next line.
func TestKilledInTheMiddleOfALine(t *testing.T) {
	const limit = 3<<20 + 7777
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		flags := append(r.outputs(Output{Selection: "exceptions=info", File: "app.log"}), "-XX:+UseSerialGC")
		jvm := r.start(flags, "Throw", "1000000", "20000", "300")
		if err := unix.Prlimit(jvm.PID(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(t, patience, "both files are full", func() bool {
			return size(r, filepath.Join(r.source, "app.log")) == limit && size(r, filepath.Join(r.truth, "app.log")) == limit
		})
		jvm.Kill()
		r.emptied()
		r.stop()
		written := r.written("app.log")
		if bytes.HasSuffix(written, newline) {
			t.Fatal("the limit happens to be at the end of a line, want it within a line")
		}
		r.identical(append(written, '\n'), r.persisted("app.log"))
	})
}
