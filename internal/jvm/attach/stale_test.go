package attach

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deadSockets creates sockets without a listener in tmp, with the given names.
func deadSockets(t *testing.T, tmp string, names ...string) {
	t.Helper()
	for _, name := range names {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(tmp, name)}))
		unix.Close(fd)
	}
}

// sockets creates sockets with a listener in tmp, with the given names.
func sockets(t *testing.T, tmp string, names ...string) {
	t.Helper()
	for _, name := range names {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(tmp, name)}))
		must(t, unix.Listen(fd, 5))
	}
}

// A killed JVM leaves a socket without a listener. However many such sockets exist, they are not listed as JVMs, not
// reported as problems, and do not hide a JVM, whether that JVM answers at once or has a full backlog.
func TestSocketsThatNobodyListensOnAreNotJVMs(t *testing.T) {
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			l := listen(t, tmp, 1)
			if busy {
				fill(t, l, filepath.Join(tmp, socketName(1)))
			}
			time.Sleep(birthTick)
			for n := range 2 * maxFound {
				deadSockets(t, tmp, socketName(100+n))
			}
			c := New(testConfig(tmp), tmp)
			found := c.Survey(t.Context())
			if !slices.Equal(pids(found.JVMs), []int{1}) || len(found.Problems) > 0 {
				t.Errorf("found %v, with the problems %v, want only process 1 and no problem", found.JVMs, found.Problems)
			}
			newestFirst := func(a, b JVM) int { return cmp.Compare(b.socket.born, a.socket.born) }
			if len(found.Stale) != 2*maxFound || !slices.IsSortedFunc(found.Stale, newestFirst) {
				t.Errorf("the stale sockets are %v, want 2*maxFound of them, the newest first", found.Stale)
			}
			soonest := refusedFor
			for n := 0; soonest >= refusedFor && n < 20; n++ { // the machine may be busy
				began := time.Now()
				if again := c.Survey(t.Context()); len(again.JVMs) != 1 {
					t.Errorf("the second search found %v, want 1", again.JVMs)
				}
				soonest = min(soonest, time.Since(began))
			}
			if soonest >= refusedFor {
				t.Errorf("the fastest repetition of the search took %v, want less than refusedFor: it has nothing to wait for", soonest)
			}
			if names, err := os.ReadDir(tmp); err != nil || len(names) != 2*maxFound+1 {
				t.Errorf("%d sockets are left, error %v, want all 2*maxFound+1", len(names), err)
			}
			c.cfg.PID = 100
			if f := c.Survey(t.Context()); len(f.JVMs)+len(f.Stale) > 0 || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Error(), staleSocket) {
				t.Errorf("a search for the JVM of a stale socket found %+v, want 1 problem, which says that the socket is stale, and nothing else", f)
			}
		})
	}
}

// If the search finds a JVM that has bound its socket but does not listen yet, the search waits for the JVM.
func TestAJVMThatJustBeginsToListenIsNotStale(t *testing.T) {
	tmp := t.TempDir()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(tmp, socketName(1))}))
	listening := make(chan error, 1)
	time.AfterFunc(refusedFor/6, func() { listening <- unix.Listen(fd, 5) })
	found := New(testConfig(tmp), tmp).Survey(t.Context())
	must(t, <-listening)
	if len(found.JVMs) != 1 || len(found.Stale) != 0 {
		t.Errorf("found %+v, want one JVM and no stale socket", found)
	}
}

// The sockets of JVMs that may be raised are retried for a moment, all at the same time.
func TestKnownSocketsAreTriedAgainTogether(t *testing.T) {
	tmp := t.TempDir()
	var known []string
	var closed []*net.UnixListener
	for pid := 1; pid <= maxFound; pid++ {
		closed = append(closed, listen(t, tmp, pid))
	}
	c := New(testConfig(tmp), tmp)
	jvms, _ := c.Find(t.Context())
	for i, j := range jvms {
		must(t, closed[i].Close())
		known = append(known, j.ID)
	}
	time.Sleep(refusedFor) // younger sockets are retried anyway, which another test covers
	began := time.Now()
	found := c.Survey(t.Context(), known...)
	if took := time.Since(began); len(found.Stale) != maxFound || took < refusedFor || took >= maxFound*refusedFor { // the time if they were retried one after the other
		t.Errorf("%d sockets are stale after %v, want maxFound after refusedFor or more, but less than maxFound times that", len(found.Stale), took)
	}
}

// A socket whose state is unknown is not stale: if a caller gives up, it must not forget a raised
// JVM.
func TestALookThatIsGivenUpTakesNoJVMForStale(t *testing.T) {
	tmp := t.TempDir()
	deadSockets(t, tmp, socketName(1))
	for young := true; young; { // until the age of the socket leaves no doubt
		j := JVM{PID: 1}
		s, err := j.openSocket(tmp)
		must(t, err)
		young = s.id.young()
		s.close()
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found := New(testConfig(tmp), tmp).Survey(ctx); len(found.Stale) != 0 || len(found.Problems) != 1 {
		t.Errorf("found %+v, want no stale socket and one problem", found)
	}
}

// fill fills the backlog of a listener that accepts no connections.
func fill(t *testing.T, l *net.UnixListener, path string) {
	t.Helper()
	raw, err := l.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { _ = unix.Listen(int(fd), 1) }))
	for range 10 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err == unix.EAGAIN {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the backlog does not fill up")
}
