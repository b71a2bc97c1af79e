package levels

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab/fakejvm"

	"github.com/ullage/ullage/internal/jvm/control"
)

// deepSource moves the source to a path that is too long for the address of a socket.
func (r *rig) deepSource() {
	r.t.Helper()
	r.cfg.Source = filepath.Join(r.cfg.Source, strings.Repeat("deep", 30), strings.Repeat("er", 60))
	must(r.t, os.MkdirAll(r.cfg.Source, 0o700))
}

// listenAt listens at a path of any length.
func listenAt(t testing.TB, path string) *net.UnixListener {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	dir, err := os.Open(filepath.Dir(path))
	must(t, err)
	defer dir.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))})
	must(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	return l
}

// serveAt listens at a path, reads a request from each connection and passes the connection to
// serve.
func serveAt(t testing.TB, path string, serve func(net.Conn)) {
	t.Helper()
	l := listenAt(t, path)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, maxRequest))
				serve(conn)
			}()
		}
	}()
}

func TestACommandFindsASidecarBehindALongPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deepSource()
	j := r.jvm(1)
	r.annotate()
	p := r.process()
	if _, _, err := p.set("gc*=debug", time.Hour); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	must(t, ignoreChanges(p.reset()))
	logs(t, j, fakejvm.OwnSelection)
}

// impostors returns functions that create what a killed process leaves behind, or what the
// application may put in the place of the socket.
func impostors(t *testing.T) map[string]func(path string) error {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	l := listenAt(t, elsewhere)
	go func() {
		if c, err := l.Accept(); err == nil {
			t.Error("a command followed a link out of the source")
			c.Close()
		}
	}()
	return map[string]func(path string) error{
		"a stale socket":    func(path string) error { return listenAt(t, path).Close() },
		"a deaf socket":     func(path string) error { listenAt(t, path); return nil },
		"a file":            func(path string) error { return os.WriteFile(path, []byte("{}"), 0o666) },
		"a FIFO":            func(path string) error { return unix.Mkfifo(path, 0o666) },
		"a link to outside": func(path string) error { return os.Symlink(elsewhere, path) },
		"a link to itself":  func(path string) error { return os.Symlink(path, path) },
	}
}

func TestWhatIsInThePlaceOfTheSocketIsInNobodysWay(t *testing.T) {
	t.Parallel()
	for name, put := range impostors(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			j := r.jvm(1)
			r.annotate()
			must(t, os.Mkdir(filepath.Dir(r.state(socketName)), 0o700))
			must(t, put(r.state(socketName)))
			p := r.process()
			_, _, err := p.set("gc*=debug", time.Hour)
			must(t, err)
			must(t, os.Remove(r.state(socketName)))
			must(t, put(r.state(socketName)))
			_, _, err = p.set("gc*=trace", time.Hour)
			must(t, err)
			logs(t, j, fakejvm.Atop("gc*=trace"))
			must(t, ignoreChanges(p.reset()))
			logs(t, j, fakejvm.OwnSelection)
		})
	}
}

func TestADirectoryInThePlaceOfTheSocketIsReportedAndTheLevelsAreKept(t *testing.T) {
	r, j := alone(t)
	must(t, os.MkdirAll(r.state(socketName)+"/deep", 0o700))
	p := r.raised(j)
	hasError(t, p.Status(), "listen for commands")
	must(t, os.RemoveAll(r.state(socketName)))
	p.step()
	hasError(t, p.Status(), "")
	r.restored(p, j)
}

// The application holds the lock and answers on the socket. Commands end within a bounded time and
// report what they found, and nothing of the answer is executed or lost.
func TestAForgedKeeperHoldsUpNoCommandAndIsReported(t *testing.T) {
	t.Parallel()
	flood := strings.Repeat("x", 1<<16)
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		want  string
	}{
		"hangs":           {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "does not answer"},
		"drips":           {func(c net.Conn) { drip(c) }, "does not answer"},
		"never ends":      {func(c net.Conn) { flow(c, flood) }, "longer than 4194304 bytes: another program listens there"},
		"closes":          {func(net.Conn) {}, "no process answers"},
		"acknowledges":    {func(c net.Conn) { fmt.Fprint(c, "\n") }, "no process answers"},
		"answers no JSON": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n") }, "decode the answer"},
		"answers in part": {func(c net.Conn) { fmt.Fprint(c, `{"changes":[{"PID":1}`) }, "decode the answer"},
		"answers other":   {func(c net.Conn) { fmt.Fprint(c, `{"changes":"all"}`) }, "decode the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.cfg.Attach.Timeout = 20 * time.Millisecond
			defer owner(t, r).Release()
			serveAt(t, r.state(socketName), c.serve)
			_, _, err := r.command().Set(t.Context(), raiseTo(t, "gc*=debug", time.Hour))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// drip sends a byte repeatedly, each before the other side times out.
func drip(c net.Conn) {
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		if _, err := c.Write([]byte(" ")); err != nil {
			tick.Stop()
			return
		}
	}
}

func flow(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func TestARequestIsBoundedAndCanAskForNothingElse(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	p.run()
	p.started()
	for text, want := range map[string]string{
		"{}\n":                                   "is not a request",
		"\n":                                     "decode the request",
		"GET / HTTP/1.1\r\n\r\n":                 "decode the request",
		`{"verb":"run","selection":"id"}` + "\n": "is not a request",
		`{"verb":"list","command":"VM.exit"}` + "\n":                                 "decode the request",
		`{"verb":"set","selection":"gc output=/etc/passwd","for":1000000000}` + "\n": "selection",
		`{"verb":"set","selection":"gc\nVM.log disable","for":1000000000}` + "\n":    "selection",
		`{"verb":"set","selection":"gc=debug","for":1}` + "\n":                       "out of range",
		`{"verb":"set","selection":"gc=debug","for":-1000000000}` + "\n":             "out of range",
		`{"verb":"set","selection":"gc=debug","for":1000000000,"pid":1}` + "\n":      "leave out --pid",
		`{"verb":"rotate","pid":-1}` + "\n":                                          "not a process ID",
		strings.Repeat("x", maxRequest):                                              "a line of at most 4096 bytes",
		`{"verb":"` + strings.Repeat("\u202e", 1000) + `"}` + "\n":                   "is not a request",
		`{"verb":"list"} {"verb":"set","selection":"gc=debug","for":1000000000}`:     "a line of",
	} {
		conn, err := dial(p)
		must(t, err)
		_, err = io.WriteString(conn, text)
		must(t, err)
		must(t, conn.(*net.UnixConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		must(t, err)
		conn.Close()
		var got control.Reply
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], want) || strings.Contains(got.Errors[0], "\u202e") {
			t.Errorf("the answer to %.60q is %.300q (%v), want %q", text, answer, err, want)
		}
	}
	if n := j.Count(); n != 0 {
		t.Errorf("the JVM was sent %q, want nothing", j.Sent(0))
	}
}

// Connections without a request are closed. They delay commands only briefly, and do not delay the end of
// the process.
func TestIdleConnectionsAreBounded(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	stop := p.run()
	p.started()
	idle := func(n int) (all []net.Conn) {
		for range n {
			c, err := dial(p)
			must(t, err)
			t.Cleanup(func() { c.Close() })
			all = append(all, c)
		}
		return all
	}
	served := idle(maxClients)
	idle(2 * maxClients)
	var again sync.WaitGroup
	for _, c := range served { // served clients connect again, so the command must wait longer than for a starting sidecar
		again.Go(func() {
			_, _ = io.Copy(io.Discard, c)
			if c, err := dial(p); err == nil {
				t.Cleanup(func() { c.Close() })
			}
		})
	}
	t.Cleanup(again.Wait)
	if _, _, err := r.command().Set(t.Context(), raiseTo(t, "gc*=debug", time.Hour)); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	idle(3 * maxClients)
	must(t, stop())
	logs(t, j, fakejvm.OwnSelection)
}
