package sinks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"

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
	program := built(c.T, "../servers/otlpsink", "go.opentelemetry.io/collector/otelcol", "github.com/ullage/ullage/test/servers/otlpsink")
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
		writeFile(c.T, path, "Authorization: "+rightToken, 0o600)
	}
	return path
}

const rightToken, wrongToken = "Bearer right", "Bearer wrong"

// documents reads the collector's file. A line that was cut off, where the collector was
// killed or its disk was full, was not acknowledged.
func (c *collector) documents(t *testing.T) (all []document) {
	t.Helper()
	f, err := os.Open(filepath.Join(c.out, "logs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		var data logs.LogsData
		if protojson.Unmarshal(line, &data) == nil {
			all = append(all, documentsOf(&data)...)
		} else if len(line) > 0 {
			t.Logf("the collector's file has a line of %d bytes that was cut off", len(line))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func documentsOf(data *logs.LogsData) (all []document) {
	for _, resource := range data.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			for _, l := range scope.LogRecords {
				d := document{body: l.Body.GetStringValue()}
				for _, a := range l.Attributes {
					if a.Key == "log.record.uid" {
						d.uid = a.Value.GetStringValue()
					}
				}
				all = append(all, d)
			}
		}
	}
	return all
}
