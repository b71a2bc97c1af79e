package jvm

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

const (
	debug = "gc*=debug,safepoint*=debug"
	trace = "gc*=trace,safepoint*=trace"
)

// The JVM rotates every 64 KiB and keeps 3 or 12 archives, named .0 to .2 or .00 to .11. It unlinks
// the oldest.
func TestRotation(t *testing.T) {
	for name, archive := range map[string]string{"filecount=3": `^gc\.log\.[0-2]$`, "filecount=12": `^gc\.log\.(0\d|1[01])$`} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, jdk lab.JDK) {
				// Three rotations take 50 ms. If the machine stalls for longer, archives are overwritten unseen,
				// and the sidecar reports that.
				for range 3 {
					if testRotation(t, jdk, name, regexp.MustCompile(archive)) {
						return
					}
					t.Log("archives were overwritten before they were seen: trying again")
				}
				t.Error("archives were overwritten before they were seen in each of three attempts, want one attempt without that")
			})
		})
	}
}

// looks waits until the sidecar looks at the source: archives that a JVM overwrites before that leave no trace.
func looks(r *rig) {
	r.Helper()
	lab.Eventually(r, patience, "the sidecar looks at the source", func() bool { return strings.Contains(r.side.Stderr(), "msg=shipping") })
}

// testRotation reports whether the sidecar has seen all archives. If so, nothing may be missing.
func testRotation(t *testing.T, jdk lab.JDK, filecount string, archive *regexp.Regexp) bool {
	r := newRig(t, jdk, "64m")
	looks(r)
	flags := r.outputs(Output{Selection: debug, File: "gc.log", Decorations: "time,uptime,level,tags", Options: filecount + ",filesize=64K"})
	jvm := r.start(append(flags, "-XX:+UseSerialGC", "-Xmn2m"), "Churn", "2500", "400")
	seen := false
	lab.Eventually(t, patience, "the JVM rotates", func() bool {
		names, _ := filepath.Glob(filepath.Join(r.source, "gc.log.*"))
		for _, name := range names {
			seen = seen || archive.MatchString(filepath.Base(name))
		}
		return seen
	})
	if err := jvm.Wait(patience); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if strings.Contains(r.side.Stderr(), "archives were overwritten unread") {
		return false
	}
	written := r.written("gc.log")
	if rotations := len(written) >> 16; rotations < 12 {
		t.Errorf("only %d rotations, want at least 12", rotations)
	}
	r.identical(written, r.persisted("gc.log"))
	return true
}

// Several threads log at once. The lines of each thread must be in the same order, and the total number of lines must
// be the same.
func TestRotationWithConcurrentThreads(t *testing.T) {
	each(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		looks(r)
		flags := r.outputs(Output{Selection: trace, File: "gc.log", Options: "filecount=5,filesize=1M"})
		r.run(append(flags, "-XX:+UseG1GC", "-Xmn4m"), "Churn", "2500", "600")
		r.stop()
		r.same(r.written("gc.log"), r.persisted("gc.log"))
	})
}
