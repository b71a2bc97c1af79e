package sinks

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// collector is an OpenTelemetry Collector with TLS that writes each request to a file.
type collector struct {
	identity
	*lab.Engine
	port int
	out  string // directory of the file
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{identity: identity{t, t.TempDir()}, port: freePort(t)}
	c.out = lab.Tmpfs(t, "256m")
	c.certificate(time.Now().Add(time.Hour))
	command, err := lab.Collector(t.Logf, c.dir, c.address(), filepath.Join(c.out, "logs.jsonl"), c.files())
	c.must(err)
	c.Engine = &lab.Engine{Command: command, Answers: func() bool {
		conn, err := net.DialTimeout("tcp", c.address(), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}}
	c.start()
	t.Cleanup(func() { c.Kill() })
	return c
}

func (c *collector) start() {
	c.Helper()
	c.must(c.Start())
}

func (c *collector) address() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// sink returns the sink's URL. If endpoint is empty, the sink sends to the server itself, otherwise
// to that proxy.
func (c *collector) sink(endpoint string) string {
	if endpoint == "" {
		endpoint = "https://" + c.address()
	}
	return fmt.Sprintf("otlp+%s?name=otlp&ca=%s&headers=%s", endpoint, escaped(c.ca()), escaped(c.headers()))
}

// headers returns the path of the file with the headers that the sink sends.
func (c *collector) headers() string {
	path := filepath.Join(c.dir, "headers")
	if _, err := os.Stat(path); err != nil {
		writeFile(c.TB, path, "Authorization: "+rightToken, 0o600)
	}
	return path
}

const rightToken, wrongToken = "Bearer right", "Bearer wrong"

// documents returns the lines in the collector's file.
func (c *collector) documents(t *testing.T) (all []document) {
	t.Helper()
	collected, cut, err := lab.ReadCollected(filepath.Join(c.out, "logs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if cut > 0 {
		t.Logf("the collector's file has %d bytes of incomplete requests", cut)
	}
	for _, one := range collected {
		all = append(all, document{uid: one.UID, body: one.Body})
	}
	return all
}
