package webhook

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

func TestStoppingAnswersUntilAPIServersHaveLearnedOfIt(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	r := start(t, func(pod []byte, ns string) (Decision, error) {
		if strings.Contains(string(pod), "slow") {
			entered <- struct{}{}
			<-release
		}
		return mutateTest(pod, ns)
	}, 500*time.Millisecond)
	c := r.client(t)
	if _, resp, err := r.review(c, body("web")); err != nil || resp.Close {
		t.Fatalf("before the signal: error %v, or the answer closes the connection; want no error and Close false", err)
	}
	r.end()
	lab.Eventually(t, within, "not ready", func() bool { return r.Ready() != nil && strings.Contains(r.Ready().Error(), "stopping") })
	// The first review uses the open connection, and the second a new one.
	for range 2 {
		if _, resp, err := r.review(c, body("web")); err != nil || !resp.Close {
			t.Errorf("after the signal: error %v, or the answer does not close the connection; want no error and Close true", err)
		}
	}
	slow := make(chan error, 1)
	go func() { _, _, err := r.review(c, body("slow")); slow <- err }()
	<-entered
	lab.Eventually(t, within, "no new connections", func() bool {
		conn, err := net.Dial("tcp", r.Addr().String())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("a review under way: %v, want no error", err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if err := r.Ready(); err == nil || err.Error() != "the webhook is not running" {
		t.Errorf(`ready after the end: %v, want "the webhook is not running"`, err)
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	addr := start(t, mutateTest, 0).Addr().String()
	var work sync.WaitGroup
	for name, text := range map[string]string{
		"no handshake":  "",
		"half a header": "POST /mutate HTTP/1.1\r\nHost: x\r\n",
		"half a body":   "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
	} {
		var conn net.Conn
		var err error
		if text == "" {
			conn, err = net.Dial("tcp", addr)
		} else {
			conn, err = tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer conn.Close()
			_, _ = io.WriteString(conn, text)
			_ = conn.SetReadDeadline(time.Now().Add(readTimeout + lab.Patience))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: still connected, want the connection cut off", name)
			}
		})
	}
	work.Wait()
}
