package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const (
	bucket = "logs"
	key    = "demo"

	// uploadEvery is shorter than by default, so that the bucket fills while the user watches.
	uploadEvery = 3 * time.Second
)

// engine is a server to which a sink of the sidecar copies. Until the demo is over, it starts again after an outage,
// however it has ended.
type engine struct {
	name string // of the sink
	what string // the name for people
	url  string // of the sink
	port int
	args []string

	mu      sync.Mutex
	running *exec.Cmd // nil: it is down
	over    context.CancelFunc
	ended   chan struct{} // closed once the server is no longer started
}

// startEngines starts an S3 server and a Collector, built from their modules once.
func (d *demo) startEngines() error {
	store, collected := filepath.Join(d.scratch, "store"), d.collected()
	if err := os.MkdirAll(filepath.Join(store, bucket), 0o755); err != nil {
		return err
	}
	s3, otlp := &engine{name: "s3", what: "S3 server"}, &engine{name: "otlp", what: "Collector"}
	var err error
	for _, e := range []*engine{s3, otlp} {
		if e.port, err = lab.FreePort(); err != nil {
			return err
		}
	}
	s3.url = fmt.Sprintf("s3://%s/demo?name=s3&endpoint=%s&region=us-east-1&path-style=true", bucket, url.QueryEscape("http://"+s3.address()))
	if s3.args, err = lab.S3Server(d.say, s3.address(), key, key, store, lab.Identity{}); err != nil {
		return err
	}
	otlp.url = fmt.Sprintf("otlp+http://%s/v1/logs?name=otlp", otlp.address())
	if otlp.args, err = lab.Collector(d.say, d.scratch, otlp.address(), collected, lab.Identity{}); err != nil {
		return err
	}
	for _, e := range []*engine{s3, otlp} {
		if err := e.keep(); err != nil {
			return err
		}
		d.engines = append(d.engines, e)
		d.say("The %s runs (pid %d). End it if you like, it starts again after %s: kill -9 %d", e.what, e.pid(), outage, e.pid())
	}
	return nil
}

// sinkStatus prints what `ullage status` reports about the sinks.
func (d *demo) sinkStatus() error {
	if len(d.engines) == 0 {
		return nil
	}
	address, err := d.side.Addr(outage)
	if err != nil {
		return err
	}
	text, err := exec.Command(d.ullage, "status", "--addr", address).Output()
	if err != nil {
		return fmt.Errorf("ask the sidecar for its status: %w", err)
	}
	d.say("\nullage status reports about the sinks:")
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "sink") {
			d.say("  %s", strings.TrimSpace(line))
		}
	}
	d.say("")
	return nil
}

// collected is the file that the Collector writes.
func (d *demo) collected() string { return filepath.Join(d.scratch, "collected.jsonl") }

// credentials returns the environment with which the S3 server can be queried.
func credentials() []string {
	return append(os.Environ(), "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+key)
}

func (e *engine) address() string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(e.port)) }

// keep starts the server and starts it again each time it has ended.
func (e *engine) keep() error {
	if err := e.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.over, e.ended = cancel, make(chan struct{})
	go func() {
		defer close(e.ended)
		for {
			_ = e.running.Wait() // the error says only how the server ended
			e.mu.Lock()
			e.running = nil
			e.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-time.After(outage):
			}
			if e.start() != nil {
				return // the result shows which lines it lacks
			}
		}
	}()
	return nil
}

func (e *engine) start() error {
	cmd := exec.Command(e.args[0], e.args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for us, and we end it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the %s: %w", e.what, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = cmd
	return nil
}

// pid returns the process id of the running server, or 0 if it is down.
func (e *engine) pid() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil {
		return 0
	}
	return e.running.Process.Pid
}

// kill ends the server as kill -9 does.
func (e *engine) kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != nil {
		_ = e.running.Process.Kill() // fails only if it has ended
	}
}

// end ends the server permanently.
func (e *engine) end() {
	e.over()
	e.kill()
	<-e.ended
}
