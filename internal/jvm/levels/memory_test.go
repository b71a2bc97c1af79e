package levels

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// The application creates sockets for as many JVMs as the sidecar looks at, makes each answer with the longest list
// that is accepted, and asks the sidecar for the lists over as many connections as are allowed.
func TestListsOfManyForgedJVMsTakeLittleMemory(t *testing.T) {
	r := newRig(t)
	r.cfg.Attach.Timeout = 5 * time.Second
	const longest = 256 << 10 // bytes of a JVM's answer
	long := "0\nLog output configuration:\n #0: file=" + strings.Repeat("\x01", longest)
	for pid := range 16 {
		serveAt(t, filepath.Join(r.cfg.Attach.Tmp, fmt.Sprintf(".java_pid%d", pid+1)), func(conn net.Conn) {
			_, _ = io.WriteString(conn, long[:longest-40]+" all=off none\n")
		})
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	p := r.process()
	var before runtime.MemStats
	runtime.GC() // buffers that other tests left are not reused here
	runtime.ReadMemStats(&before)
	var most uint64
	p.during(func() {
		var asking, answered sync.WaitGroup
		answered.Add(maxClients)
		for range maxClients {
			asking.Go(func() {
				conn, err := dial(p)
				must(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, `{"verb":"list"}`+"\n")
				must(t, err)
				// No client reads on until every answer has begun, so the sidecar holds all answers at once.
				_ = conn.SetReadDeadline(time.Now().Add(patience))
				_, _ = io.ReadFull(conn, make([]byte, len("\n{")))
				answered.Done()
				answered.Wait()
				_, _ = io.Copy(io.Discard, conn)
			})
		}
		done := make(chan struct{})
		go func() { asking.Wait(); close(done) }()
		for over := false; !over; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				over = true
			case <-time.After(time.Millisecond):
			}
		}
	})
	if took := most - before.HeapAlloc; took > 24<<20 { // it once was 647 MB
		t.Errorf("the lists took %d bytes, want at most 24 MiB", took)
	}
}
