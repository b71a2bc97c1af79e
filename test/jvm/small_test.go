package jvm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// A JVM that logs at full speed writes far more than the 16 MiB of the tmpfs.
func TestASmallTmpfsNeverFills(t *testing.T) {
	each(t, func(t *testing.T, jdk lab.JDK) {
		for _, milliseconds := range []string{"5000", "20000"} { // on a busy machine, the JVM needs more time
			if written := fills(t, jdk, milliseconds); written >= 2*small {
				return
			}
		}
		t.Error("the JVM has written too little, want at least twice the size of the tmpfs")
	})
}

const small = 16 << 20

// fills lets a JVM write for a while and returns how many bytes it wrote.
func fills(t *testing.T, jdk lab.JDK, milliseconds string) int {
	r := newRig(t, jdk, "16m", "--sync-interval", "1s", "--budget", "16Mi")
	flags := r.outputs(Output{Selection: trace, File: "gc.log"})
	jvm := r.start(append(flags, "-XX:+UseG1GC"), "Churn", milliseconds, "100000")
	largest := int64(0)
	lab.Eventually(t, patience, "the JVM ends", func() bool {
		largest = max(largest, inUse(r, small))
		return ended(jvm)
	})
	begun := time.Now()
	r.stop()
	written := r.written("gc.log")
	t.Logf("%.1f MiB written, at most %.1f MiB of 16 MiB in use, drained in %s",
		float64(len(written))/(1<<20), float64(largest)/(1<<20), time.Since(begun).Round(time.Millisecond))
	if largest >= small {
		t.Errorf("%d bytes in use, want fewer than the 16 MiB of the tmpfs", largest)
	}
	r.same(written, r.persisted("gc.log"))
	return len(written)
}

// inUse returns how much memory the source takes. If the source is a tmpfs of the given size, unlinked files are
// included. Otherwise the result is the size of the directory's files.
func inUse(r *rig, mounted int64) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(r.source, &st); err != nil {
		r.Fatal(err)
	}
	if int64(st.Blocks)*int64(st.Bsize) == mounted {
		return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
	}
	return lab.InUse(r.source)
}

func ended(p *Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}
