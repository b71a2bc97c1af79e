package admin

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// dial opens a raw connection and sends the text.
func dial(t *testing.T, r *rig, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAClientThatNeverFinishesItsHeaderIsCutOff(t *testing.T) {
	t.Parallel()
	r := start(t, nil, nil)
	c := dial(t, r, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if err := c.SetReadDeadline(time.Now().Add(readHeaderTimeout + lab.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("the connection is still open: %v, want it closed", err)
	}
}

func TestAnEndlessHeaderIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, nil, nil)
	c := dial(t, r, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 2*maxHeaderBytes))
	head := make([]byte, 12)
	if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 431" {
		t.Errorf(`the answer begins with %q, error %v, want "HTTP/1.1 431"`, head, err)
	}
}

func TestAStrangerCannotWriteToTheLog(t *testing.T) {
	t.Parallel()
	r := start(t, nil, nil)
	for _, request := range []string{"\x16\x03\x01 TLS?\r\n\r\n", "GET /?a;b HTTP/1.1\r\nHost: x\r\n\r\n", "GET  /\x00 HTTP/9\r\n\r\n"} {
		c := dial(t, r, request)
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("after %q, the read failed: %v, want an answer", request, err)
		}
	}
	if err := r.stop(); err != nil || r.log.String() != "" {
		t.Errorf("Run returned %v, and the log has %q; want no error and an empty log", err, r.log)
	}
}

// scrape requests more metrics than the sockets can buffer and reads only the status line of the answer. The handler then waits for the client.
func scrape(t *testing.T, r *rig, method string) string {
	t.Helper()
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(dial(t, r, method+" /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), head); err != nil {
		t.Fatal(err)
	}
	return string(head)
}

// startBig is start with the 5 MiB of metrics that scrape needs.
func startBig(t *testing.T) *rig {
	t.Helper()
	r := start(t, nil, nil)
	big := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ullage_big", Help: "Big."}, []string{"name"})
	r.reg.MustRegister(big)
	for i := range 320 {
		big.WithLabelValues(strconv.Itoa(i) + strings.Repeat("x", 16<<10))
	}
	return r
}

// A client that never reads fills its receive window, and the answer then waits
// in the handler. The client must neither delay other clients nor delay the end
// of Run beyond the deadline.
func TestAClientThatNeverReadsHoldsNothing(t *testing.T) {
	t.Parallel()
	r := startBig(t)
	if got := scrape(t, r, "GET"); got != "HTTP/1.1 200" {
		t.Fatalf(`the client gets %q, want "HTTP/1.1 200"`, got)
	}
	if code, _, _ := r.do(t, "GET", "/healthz"); code != 200 {
		t.Errorf("/healthz has code %d, want 200", code)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v, want no error", err)
	}
}

func TestABlockedHandlerDoesNotBlockTheEnd(t *testing.T) {
	t.Parallel()
	release, asked := make(chan struct{}), make(chan struct{})
	s, err := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), Answers{Ready: func() error { close(asked); <-release; return nil }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	dial(t, &rig{base: s.Addr().String()}, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	<-asked
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "does not return") {
		t.Errorf("Run: %v, want an error that names the handler", err)
	}
	close(release)
	s.stopper.Wait()
}

func TestRunEndsWhenTheListenerFails(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background()); err == nil {
		t.Error("Run on a closed listener returned nil, want an error")
	}
}

// If no connection was made, the error must not say that the sidecar received the request.
func TestADialThatTimesOutIsNotTakenForARequest(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var at unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err = unix.Bind(fd, at); err == nil {
		if err = unix.Listen(fd, 0); err == nil {
			at, err = unix.Getsockname(fd)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*unix.SockaddrInet4).Port))
	for err == nil { // until the kernel queues no further connection
		var c net.Conn
		if c, err = net.DialTimeout("tcp", addr, 500*time.Millisecond); err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	_, _, err = Client{Addr: addr, Timeout: 200 * time.Millisecond}.Status(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), addr+" did not accept a connection within 200ms: ") {
		t.Errorf("the error is %v, want one that says that no connection was accepted", err)
	}
}

// Clients that stay connected must not use up the connections that probes need, or the sidecar's descriptors. Some
// clients send a request, some send nothing, and some send half a request.
func TestStrangersWhoStayLockNobodyOut(t *testing.T) {
	r := start(t, nil, nil)
	before := openFiles(t)
	for i := range 8 * mostConnections {
		dial(t, r, []string{"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", "GET /healthz HTTP/1.1\r\nX-Slow: "}[i%3])
	}
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second} // as a kubelet does
	for range 20 {
		resp, err := probe.Get(r.base + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	// The clients' ends of the connections belong to this process too, and stay open until the test ends.
	if n := openFiles(t) - before - 8*mostConnections; n > mostConnections+8 {
		t.Errorf("%d descriptors for %d connections, want %d at most", n, 8*mostConnections, mostConnections)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// Metrics that were gathered for a client stay in memory until the client has read them.
func TestSlowScrapersAreFew(t *testing.T) {
	t.Parallel()
	r := startBig(t)
	for range maxScrapes {
		if got := scrape(t, r, "GET"); got != "HTTP/1.1 200" {
			t.Fatalf(`a scraper gets %q, want "HTTP/1.1 200"`, got)
		}
	}
	if got := scrape(t, r, "HEAD"); got != "HTTP/1.1 503" {
		t.Errorf("a scraper gets %q while %d others do not read, want 503", got, maxScrapes)
	}
}
