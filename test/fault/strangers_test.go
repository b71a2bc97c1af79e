package fault

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

const (
	strangersAtOnce = 10_000
	// strangersCost is how many bytes the connections may cost, in addition to a full queue and scrapes. If the
	// sidecar held all connections, each would take about 20 KiB.
	strangersCost = 4 << 20
	scrapesBefore = 120 // as many as in half an hour
)

// Ten thousand strangers connect to the admin port, send a request, and stay connected. They take no descriptor away
// from a source file, and a new file is followed. The sidecar uses hardly more memory than after it caught up with a
// backlog, which fills its queue.
func TestTenThousandStrangersTakeNeitherMemoryNorDescriptors(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	needDescriptors(t, strangersAtOnce+1000)
	r.catchesUp("backlog.log", 16<<20)
	for range scrapesBefore {
		r.metric("ullage_backlog_bytes")
	}
	before, err := r.side.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	connects(t, r.side, strangersAtOnce)
	r.catchesUp("late.log", 1)
	r.persists(perSecond)
	after, err := r.side.PeakMemory()
	t.Logf("peak memory: %.1f MiB with scrapes alone, %.1f with strangers", float64(before)/(1<<20), float64(after)/(1<<20))
	if err != nil || after-before > strangersCost {
		t.Errorf("strangers cost %d KiB, want at most %d; error: %v", (after-before)>>10, strangersCost>>10, err)
	}
	r.balances()
}

// catchesUp writes a file of whole lines of at least size bytes, and waits until it is persisted and gone.
func (r *rig) catchesUp(name string, size int) {
	r.Helper()
	const line = "[1.000s][info][gc] came among strangers\n"
	path := filepath.Join(r.source, name)
	if err := os.WriteFile(path, bytes.Repeat([]byte(line), 1+(size-1)/len(line)), 0o666); err != nil {
		r.Fatal(err)
	}
	lab.Eventually(r.T, patience, name+" is persisted and gone", func() bool {
		_, err := os.Lstat(path)
		return os.IsNotExist(err)
	})
}

// connects opens connections that send one request each and stay until the end of the test.
func connects(t *testing.T, side *lab.Sidecar, count int) {
	t.Helper()
	addr, err := side.Addr(patience)
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		c, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		_, _ = fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // fails if the sidecar closed the connection to accept others
	}
}

// needDescriptors raises the limit of this process, so that it can hold its ends of the connections. A running
// sidecar keeps its own limit.
func needDescriptors(t *testing.T, count uint64) {
	t.Helper()
	needRoot(t)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if was.Cur >= count {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: count, Max: max(was.Max, count)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
}
