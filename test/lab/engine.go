package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Program is a server that is built from Go modules.
type Program struct {
	dir     string // directory of the module in test/servers
	module  string // its version is part of the name in the cache
	program string
}

// The servers for the tests of sinks and for benchmarks.
var (
	S3Program        = Program{"", "github.com/versity/versitygw", "github.com/versity/versitygw/cmd/versitygw"}
	CollectorProgram = Program{"otlpsink", "go.opentelemetry.io/collector/otelcol", "github.com/ullage/ullage/test/servers/otlpsink"}
	FilebeatProgram  = Program{"filebeat", "github.com/elastic/beats/v7", "github.com/elastic/beats/v7/filebeat"}
	VlagentProgram   = Program{"vlagent", "github.com/VictoriaMetrics/VictoriaLogs", "github.com/VictoriaMetrics/VictoriaLogs/app/vlagent"}
	FilelogProgram   = Program{"filelog", "go.opentelemetry.io/collector/otelcol", "github.com/ullage/ullage/test/servers/filelog"}
)

// Identity is a server's certificate and key, as files. The zero value is for a server without TLS.
type Identity struct{ Cert, Key string }

// S3Server returns the command of an S3 server whose buckets are directories in root.
func S3Server(say func(format string, args ...any), address, access, secret, root string, id Identity) ([]string, error) {
	program, err := S3Program.Build(say)
	if err != nil {
		return nil, err
	}
	command := []string{program, "--access", access, "--secret", secret, "--port", address, "--health", "/health", "--quiet"}
	if id.Cert != "" {
		command = append(command, "--cert", id.Cert, "--key", id.Key)
	}
	return append(command, "posix", root), nil
}

// Collector returns the command of an OpenTelemetry Collector that writes each request to a file. Its configuration
// is written into dir. Because rotation is configured, its file exporter writes without a buffer: an acknowledged
// request is in the file.
func Collector(say func(format string, args ...any), dir, address, file string, id Identity) ([]string, error) {
	program, err := CollectorProgram.Build(say)
	if err != nil {
		return nil, err
	}
	tls := ""
	if id.Cert != "" {
		tls = fmt.Sprintf(", tls: {cert_file: %q, key_file: %q}", id.Cert, id.Key)
	}
	config := filepath.Join(dir, "collector.yaml")
	text := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q%s}}}}
exporters: {file: {path: %q, rotation: {max_megabytes: 10000}}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [otlp], exporters: [file]}}}
`, address, tls, file)
	return []string{program, "--config", config}, os.WriteFile(config, []byte(text), 0o644)
}

// Engine is a server for a test that can be stopped and started again.
type Engine struct {
	*Sidecar             // the current process, or the last one
	Command  []string    // the program and its arguments
	Env      []string    // in addition to the test's own
	Answers  func() bool // whether the server is up
}

// Start starts the server and waits until it answers.
func (e *Engine) Start() error {
	cmd := exec.Command(e.Command[0], e.Command[1:]...)
	cmd.Env = append(os.Environ(), e.Env...)
	var err error
	if e.Sidecar, err = StartCommand(cmd); err != nil {
		return err
	}
	for deadline := time.Now().Add(6 * Patience); !e.Answers(); time.Sleep(10 * time.Millisecond) {
		if e.Exited() || time.Now().After(deadline) {
			e.Kill()
			return fmt.Errorf("%s does not answer; it said:\n%s", e.Command[0], e.Stderr())
		}
	}
	return nil
}
