package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/cli"
	"github.com/ullage/ullage/internal/printable"
)

const statusAbout = `ullage status shows the state of a running 'ullage run'.

Usage:
  ullage status [--addr HOST:PORT] [--json] [--timeout DURATION]

It exits with 0 when the sidecar answers, even with "not ready".

Examples:
  ullage status
  ullage status --json | jq .headroomBytes
  kubectl exec POD -c ullage -- ullage status
`

// maxStatus bounds the answer. A real one is under 100 KiB, but any program may
// listen at the address.
const maxStatus = 1 << 20

// statusConfig has the settings of `ullage status`.
type statusConfig struct {
	addr    string
	json    bool
	timeout time.Duration
}

func (c *statusConfig) flags(fs *flag.FlagSet) {
	// The default of --listen has a port and no host.
	fs.StringVar(&c.addr, "addr", "127.0.0.1"+admin.DefaultConfig().Listen, "`HOST:PORT` where 'ullage run' listens (its --listen)")
	fs.BoolVar(&c.json, "json", false, "print the answer as JSON")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "wait at most this `DURATION` for the answer")
}

func (c *statusConfig) validate() []error {
	var bad []error
	if host, port, err := net.SplitHostPort(c.addr); err != nil || host == "" || port == "" {
		bad = append(bad, fmt.Errorf("invalid value %q for --addr: write it like 127.0.0.1:9919", c.addr))
	}
	if c.timeout <= 0 {
		bad = append(bad, fmt.Errorf("invalid value %q for --timeout: it must be positive", c.timeout))
	}
	return bad
}

func statusCmd(ctx context.Context, args []string, e cli.Env) int {
	var c statusConfig
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	c.flags(fs)
	if code, ok := e.Parse(fs, statusAbout, args, func() []error { return append(c.validate(), cli.Unexpected(fs.Args())...) }); !ok {
		return code
	}
	body, st, err := fetchStatus(ctx, c)
	if err != nil {
		return e.Fail("status", err)
	}
	if c.json {
		_, err = io.WriteString(e.Stdout, printable.JSON(string(body)))
	} else {
		err = renderStatus(e.Stdout, st)
	}
	if err != nil {
		return e.Fail("status", fmt.Errorf("write the answer: %w", err))
	}
	return cli.OK
}

// fetchStatus sends one request, and returns the answer raw and decoded.
func fetchStatus(ctx context.Context, c statusConfig) ([]byte, admin.Status, error) {
	var st admin.Status
	place := "http://" + c.addr + "/status"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, st, fmt.Errorf("ask %s: %w", place, err)
	}
	// Use no proxy from the environment: the sidecar is local.
	client := &http.Client{Timeout: c.timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, st, c.unanswered(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, st, fmt.Errorf("ask %s: the answer is %s: does ullage listen there?", place, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus+1))
	if err != nil {
		return nil, st, c.unanswered(err)
	}
	if len(body) > maxStatus {
		return nil, st, fmt.Errorf("read the answer of %s: it is longer than %d bytes: does ullage listen there?", place, maxStatus)
	}
	if err := json.Unmarshal(body, &st); err != nil {
		return nil, st, fmt.Errorf("decode the answer of %s: %w: does ullage listen there?", place, err)
	}
	return body, st, nil
}

// unanswered returns why there is no complete answer, without the text that
// net/http adds to the cause.
func (c statusConfig) unanswered(err error) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%s accepted the request and did not answer within %s: ullage is stopped or very busy, or something else listens there (set a longer --timeout)", c.addr, c.timeout)
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	return fmt.Errorf("cannot reach %s: is 'ullage run' running? (%w)", c.addr, err)
}
