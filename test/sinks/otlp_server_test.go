package sinks

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// collector is an OpenTelemetry Collector with TLS that writes each request to a file.
type collector struct {
	identity
	port int
	out  string // directory of the file
	cmd  *exec.Cmd
}

// newCollector starts one. With rotation, its file exporter writes without a buffer: what
// is acknowledged is in the file.
func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{identity: identity{t, t.TempDir()}, port: freePort(t)}
	c.out = lab.Tmpfs(t, "256m")
	c.certificate(time.Now().Add(time.Hour))
	config := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d", tls: {cert_file: %q, key_file: %q}}}}}
exporters: {file: {path: %q, rotation: {max_megabytes: 10000}}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [otlp], exporters: [file]}}}
`, c.port, c.ca(), filepath.Join(c.dir, "key.pem"), filepath.Join(c.out, "logs.jsonl"))
	writeFile(t, filepath.Join(c.dir, "config.yaml"), config, 0o644)
	c.start()
	t.Cleanup(c.kill)
	return c
}

func (c *collector) start() {
	c.Helper()
	program := built(c.TB, "../servers/otlpsink", "go.opentelemetry.io/collector/otelcol", "github.com/ullage/ullage/test/servers/otlpsink")
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	c.must(err)
	defer log.Close()
	c.cmd = exec.Command(program, "--config", filepath.Join(c.dir, "config.yaml"))
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.must(c.cmd.Start())
	lab.Eventually(c, patience, "the collector listens", func() bool {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", c.port), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (c *collector) kill() {
	c.signal(unix.SIGCONT)
	c.signal(unix.SIGKILL)
	_ = c.cmd.Wait()
}

func (c *collector) signal(s unix.Signal) { _ = c.cmd.Process.Signal(s) } // fails only if it has ended

func (c *collector) address() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

func (c *collector) sink(endpoint string) string {
	return fmt.Sprintf("otlp+%s?name=otlp&ca=%s&headers=%s", endpoint, escaped(c.ca()), escaped(c.headers()))
}

// headers is the file of the headers that the sink sends.
func (c *collector) headers() string {
	path := filepath.Join(c.dir, "headers")
	if _, err := os.Stat(path); err != nil {
		writeFile(c.TB, path, "Authorization: "+rightToken, 0o600)
	}
	return path
}

const rightToken, wrongToken = "Bearer right", "Bearer wrong"

// documents reads the collector's file.
func (c *collector) documents(t *testing.T) (all []document) {
	t.Helper()
	collected, cut, err := lab.ReadCollected(filepath.Join(c.out, "logs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if cut > 0 {
		t.Logf("the collector's file has %d bytes of requests that were cut off", cut)
	}
	for _, one := range collected {
		all = append(all, document{uid: one.UID, body: one.Body})
	}
	return all
}
