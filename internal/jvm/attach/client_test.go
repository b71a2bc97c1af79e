package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// replying returns a server that answers each request with a text.
func replying(text string) func(*testing.T, string) {
	return answering(func(c net.Conn) { fmt.Fprint(c, text) })
}

// answering returns a server that checks each request byte by byte and answers it.
func answering(answer func(net.Conn)) func(*testing.T, string) { return answeringTo(List(), answer) }

// answeringTo is like answering, but for requests with another command.
func answeringTo(cmd Command, answer func(net.Conn)) func(*testing.T, string) {
	return func(t *testing.T, tmp string) {
		l := listen(t, tmp, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				want := "1\x00jcmd\x00" + cmd.String() + "\x00\x00\x00"
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c, got); err == nil && string(got) != want {
					t.Errorf("the request is %q, want %q", got, want)
				} else if err == nil {
					answer(c)
				}
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
	}
}

// untilClosed waits for the client to hang up, which it must do.
func untilClosed(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

func flood(c net.Conn) {
	_, _ = io.WriteString(c, "0\n")
	block := bytes.Repeat([]byte("x"), 1<<16)
	for n := 0; n < 1<<30; n += len(block) {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

func trickle(c net.Conn) {
	for {
		if _, err := c.Write([]byte("0")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// neverAccepting starts a server with a full backlog.
func neverAccepting(t *testing.T, tmp string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	addr := &unix.SockaddrUnix{Name: filepath.Join(tmp, ".java_pid1")}
	if err := errors.Join(unix.Bind(fd, addr), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for range 100 {
		c, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(c) })
		if err := unix.Connect(c, addr); err == unix.EAGAIN {
			return
		}
	}
	t.Fatal("the backlog does not fill up")
}

func closingAtOnce(t *testing.T, tmp string) {
	l := listen(t, tmp, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

func TestWhateverIsInTheSocketsPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, tmp string)
		want Kind
	}{
		{"regular file", func(t *testing.T, tmp string) { put(t, filepath.Join(tmp, ".java_pid1"), "0\n") }, NotASocket},
		{"FIFO", func(t *testing.T, tmp string) { must(t, unix.Mkfifo(filepath.Join(tmp, ".java_pid1"), 0o666)) }, NotASocket},
		{"directory", func(t *testing.T, tmp string) { must(t, os.Mkdir(filepath.Join(tmp, ".java_pid1"), 0o777)) }, NotASocket},
		{"symlink to a socket", func(t *testing.T, tmp string) {
			other := t.TempDir()
			replying(listReply)(t, other)
			must(t, os.Symlink(filepath.Join(other, ".java_pid1"), filepath.Join(tmp, ".java_pid1")))
		}, NotASocket},
		{"symlink to nowhere", func(t *testing.T, tmp string) { must(t, os.Symlink("nowhere", filepath.Join(tmp, ".java_pid1"))) }, NotASocket},
		{"socket of a JVM that was killed", func(t *testing.T, tmp string) { listen(t, tmp, 1).Close() }, ""},
		{"full backlog", neverAccepting, TimedOut},
		{"accepted by the kernel only", func(t *testing.T, tmp string) { listen(t, tmp, 1) }, TimedOut},
		{"no answer", answering(untilClosed), TimedOut},
		{"one byte at a time", answering(trickle), TimedOut},
		{"1 GiB", answering(flood), BadReply},
		{"closed at once", closingAtOnce, BadReply},
		{"closed after the request", replying(""), BadReply},
		{"half a status", replying("0"), BadReply},
		{"no status", replying("\n"), BadReply},
		{"garbage", replying("\xff\x00HTTP/1.1 400 Bad Request\r\n\r\n"), BadReply},
		{"status beyond 32 bits", replying("4294967296\n"), BadReply},
		{"negative status", replying("-1\nno"), Refused},
		{"version is not known", replying("101\n"), TooOld},
		{"VM.log is not known", replying("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n"), TooOld},
		{"list", replying(listReply), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmp := t.TempDir()
			c.make(t, tmp)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			kind, err := tryAll(New(testConfig(tmp), tmp))
			if kind != c.want {
				t.Errorf("the error has kind %q, want %q: %v", kind, c.want, err)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("the command allocated %d bytes, want at most 16 MiB", used)
			}
			if text := fmt.Sprint(err); err != nil && strings.ContainsAny(text, "\n\r\x00") {
				t.Errorf("the error has control bytes: %q", text)
			}
		})
	}
}

// A dump is longer than other answers, and its beginning is useful even if the rest is missing.
func TestDumpIsAsLongAsItsBound(t *testing.T) {
	for _, cmd := range []Command{Threads(), Histogram(), Flags()} {
		for _, n := range []int{1, maxReply, maxDump - 2, maxDump - 1} {
			tmp := t.TempDir()
			answeringTo(cmd, func(c net.Conn) { fmt.Fprint(c, "0\n", strings.Repeat("x", n)) })(t, tmp)
			c := New(testConfig(tmp), tmp)
			text, err := c.Run(t.Context(), one(t, c), cmd)
			if len(text) != min(n, maxDump-2) || (KindOf(err) == BadReply) != (n > maxDump-2) {
				t.Errorf("%s: got %d bytes of %d, error %v; want %d bytes, and the error to be a bad reply: %t", cmd, len(text), n, err, min(n, maxDump-2), n > maxDump-2)
			}
		}
	}
}

func TestPathLongerThanASocketAddress(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), strings.Repeat("long/", 50))
	must(t, os.MkdirAll(tmp, 0o777))
	replying(listReply)(t, tmp)
	c := New(testConfig(tmp), tmp)
	if text, err := c.Run(t.Context(), one(t, c), List()); err != nil || text != listReply[2:] {
		t.Fatalf("got %q, error %v; want %q and no error", text, err, listReply[2:])
	}
}

func TestTextOfAnyCommandButListIsARefusal(t *testing.T) {
	long := "No tag set matches selection:\n" + strings.Repeat("x", 5000)
	for _, c := range []struct{ reply, text string }{
		{"0\n", ""},
		{"0\nInvalid tag 'x'\n", "Invalid tag 'x'\n"},
		{"0\n\n", "\n"},
		{"-1\n", "-"},
		{"0\n" + long, long[:maxText]},
	} {
		tmp := t.TempDir()
		l := listen(t, tmp, 1)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if _, err := io.ReadFull(conn, make([]byte, len(request(Rotate())))); err == nil { // a request, not the client's check that something listens
					_, _ = io.WriteString(conn, c.reply)
				}
				conn.Close()
			}
		}()
		client := New(testConfig(tmp), tmp)
		body, err := client.Run(t.Context(), one(t, client), Rotate())
		var e *Error
		switch {
		case body != "":
			t.Errorf("%.40q: the body is %q, want none", c.reply, body)
		case c.text == "" && err != nil, c.text != "" && (!errors.As(err, &e) || e.Kind != Refused):
			t.Errorf("%.40q: the error is %v; want a refusal: %t", c.reply, err, c.text != "")
		case c.text != "" && c.text != "-" && e.Text != c.text:
			t.Errorf("%.40q: the text is %q, want %q", c.reply, e.Text, c.text)
		}
	}
}

func TestCancelledContextIsNotATimeout(t *testing.T) {
	tmp := t.TempDir()
	answering(untilClosed)(t, tmp)
	cfg := testConfig(tmp)
	cfg.Timeout = time.Minute
	c := New(cfg, tmp)
	j := one(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := c.Run(ctx, j, List()); !errors.Is(err, context.Canceled) || KindOf(err) == TimedOut {
		t.Errorf("canceled while waiting: got the error %v, want %v of a kind other than %q", err, context.Canceled, TimedOut)
	}
	if _, err := c.Run(ctx, j, List()); !errors.Is(err, context.Canceled) || KindOf(err) == TimedOut {
		t.Errorf("canceled before the call: got the error %v, want %v of a kind other than %q", err, context.Canceled, TimedOut)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Run(ctx, j, List()); !errors.Is(err, context.DeadlineExceeded) || KindOf(err) != TimedOut {
		t.Errorf("after the caller's deadline: got the error %v, want %v of kind %q", err, context.DeadlineExceeded, TimedOut)
	}
}

func TestServerThatIsBusyForAMomentIsWaitedFor(t *testing.T) {
	tmp := t.TempDir()
	l := listen(t, tmp, 1)
	c := New(testConfig(tmp), tmp)
	j := one(t, c)
	time.AfterFunc(50*time.Millisecond, func() { serve(l, func(c net.Conn) { _, _ = io.WriteString(c, listReply) }) })
	if _, err := c.Run(t.Context(), j, List()); err != nil {
		t.Fatal(err)
	}
}

func TestStaleSocketIsBelievedAtOnceTheSecondTime(t *testing.T) {
	tmp := t.TempDir()
	l := listen(t, tmp, 1)
	c := New(testConfig(tmp), tmp)
	j := one(t, c)
	l.Close()
	run := func() time.Duration {
		started := time.Now()
		if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NoJVM {
			t.Fatalf("got the error %v, want one of kind %q", err, NoJVM)
		}
		return time.Since(started)
	}
	if took := run(); took < refusedFor {
		t.Errorf("the first attempt took %v, want at least %v", took, refusedFor)
	}
	soonest := run()
	for n := 0; soonest >= refusedFor && n < 20; n++ { // the machine may be busy
		soonest = min(soonest, run())
	}
	if soonest >= refusedFor {
		t.Errorf("the later attempts took at least %v, want less than %v, because there was nothing to wait for", soonest, refusedFor)
	}
}

func TestJVMThatEndsInsteadOfAnswering(t *testing.T) {
	tmp := t.TempDir()
	l := listen(t, tmp, 1)
	c := New(testConfig(tmp), tmp)
	j := one(t, c)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n, _ := conn.Read(make([]byte, 1)); n > 0 { // a request, not the client's check that something listens
				l.Close()
			}
			conn.Close()
		}
	}()
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NoJVM {
		t.Fatalf("got the error %v, want one of kind %q", err, NoJVM)
	}
}

func TestNothingIsSentWithoutACommand(t *testing.T) {
	if _, err := New(testConfig(t.TempDir()), "").Run(t.Context(), JVM{}, Command{}); KindOf(err) != OtherError {
		t.Fatalf("got the error %v, want one of kind %q", err, OtherError)
	}
}

func TestSeveralJVMsAtOnce(t *testing.T) {
	tmp := t.TempDir()
	for pid := 1; pid <= maxFound; pid++ {
		l := listen(t, tmp, pid)
		go serve(l, func(c net.Conn) { _, _ = io.WriteString(c, listReply) })
	}
	c := New(testConfig(tmp), tmp)
	jvms, _ := c.Find(t.Context())
	var all sync.WaitGroup
	for _, j := range jvms {
		all.Go(func() {
			if _, err := c.Run(t.Context(), j, List()); err != nil || !c.Alive(j) {
				t.Errorf("for %v, the error is %v, want none and a JVM that is alive", j, err)
			}
		})
	}
	all.Wait()
}
