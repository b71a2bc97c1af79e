package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

const openAbout = `kubectl ullage open shows the live page of a pod's sidecar in the browser:
headroom, backlog, rates, pauses, levels, gaps and errors, refreshed every two
seconds.

Usage:
  kubectl ullage open TARGET [--port N] [-c NAME]

Examples:
  kubectl ullage open web-0
  kubectl ullage open web-0 -n prod --port 8000
  kubectl ullage open deploy/web

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. Of several pods,
the command takes the oldest that is ready, and says on stderr which that is.

It forwards a port of this machine to the sidecar's admin HTTP, prints the URL,
opens it in the browser, and forwards until Ctrl-C. Only this machine can use
the port. If there is no browser, open the URL yourself; set BROWSER to use
another one.

A pod with several JVM containers has a sidecar for each: -c names one. It needs
the right to forward ports (create pods/portforward).
`

// openConfig has the settings of `kubectl ullage open`.
type openConfig struct {
	single
	port uint // on this machine; 0: any free port
}

func (c *openConfig) flags(fs *flag.FlagSet) {
	c.single.flags(fs)
	fs.UintVar(&c.port, "port", 0, "`NUMBER` of the port on this machine (0: any free one)")
}

func (c *openConfig) validate(args []string) []error {
	bad := c.single.validate(args)
	if c.port > 65535 {
		bad = append(bad, fmt.Errorf("invalid value %d for --port: not a port number", c.port))
	}
	return bad
}

func openCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := openConfig{single: single{cluster: c}}
	fs := flag.NewFlagSet("open", flag.ContinueOnError)
	cfg.flags(fs)
	e.Words = cfg.cluster.words(ctx)
	if code, ok := e.Parse(fs, openAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	s, err := cfg.find(ctx, e, "open")
	if err != nil {
		return e.Fail("open", err)
	}
	remote, err := s.adminPort()
	if err != nil {
		return e.Fail("open", fmt.Errorf("pod %s: %w", s, err))
	}
	if err := cfg.forward(ctx, e, s, remote); err != nil && ctx.Err() == nil {
		return e.Fail("open", err)
	}
	return cli.OK // Ctrl-C is the normal end
}

// adminPort returns the port of the sidecar's admin HTTP.
func (s sidecar) adminPort() (uint16, error) {
	listen := s.setting("listen")
	if listen == "" {
		listen = admin.DefaultConfig().Listen
	}
	if listen == admin.Off {
		return 0, errors.New("its admin HTTP is off (--listen off): 'kubectl ullage status' needs it as well")
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return 0, fmt.Errorf("read its --listen %q: %w", listen, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("its --listen %q names no port", listen)
	}
	// kubectl forwards to the pod's loopback address.
	if ip, err := netip.ParseAddr(host); err == nil && !ip.IsUnspecified() && !ip.IsLoopback() {
		return 0, fmt.Errorf("its admin HTTP listens only on %s, but ports are forwarded to 127.0.0.1: open http://%s/ from where that address is reachable", ip, listen)
	}
	return uint16(port), nil
}

// forwardAgain is the pause before a port is forwarded again.
const forwardAgain = time.Second

// forward forwards the port until ctx ends. It opens the page once kubectl listens. A kubectl ends even when the
// node resets a single connection, for instance because the sidecar restarts. Another kubectl then forwards the
// same port. If a kubectl ends before it listens, forward fails with that kubectl's error.
func (c *openConfig) forward(ctx context.Context, e cli.Env, s sidecar, remote uint16) error {
	for opened := false; ; opened = true {
		listened, err := c.forwardOnce(ctx, s, remote, func(url string) error {
			if opened {
				return nil
			}
			return openPage(e, url)
		})
		if !listened || err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(forwardAgain):
		}
	}
}

// forwardOnce runs a kubectl that forwards the port, and calls use with the URL once the kubectl listens. From then
// on, the port on this machine is fixed. If the kubectl has listened, its end is not an error.
func (c *openConfig) forwardOnce(ctx context.Context, s sidecar, remote uint16, use func(url string) error) (listened bool, err error) {
	ports := ":" + strconv.Itoa(int(remote))
	if c.port != 0 {
		ports = strconv.Itoa(int(c.port)) + ports
	}
	cmd := s.cluster.command(ctx, "port-forward", "--address=127.0.0.1", "pod/"+s.pod, ports)
	complaint := &head{limit: maxComplaint, over: func() {}}
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("make a pipe for kubectl: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return false, c.cluster.notRun(err)
	}
	if c.port, listened = forwarding(out); listened {
		if err = use(fmt.Sprintf("http://127.0.0.1:%d/", c.port)); err != nil {
			_ = end(cmd.Process) // fails only if kubectl has ended
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line for each connection, until kubectl ends
	ended := cmd.Wait()
	if listened || ctx.Err() != nil {
		return listened, err
	}
	if ended == nil {
		ended = errors.New("kubectl ended")
	}
	return false, fmt.Errorf("forward the port: %w", c.cluster.explain(ended, string(complaint.kept)))
}

// listening is the line with which kubectl reports that it listens.
var listening = regexp.MustCompile(`^Forwarding from 127\.0\.0\.1:([0-9]{1,5}) -> `)

// forwarding returns the port of this machine once a kubectl listens. It returns
// false if the kubectl ends before that.
func forwarding(out io.Reader) (port uint, listens bool) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.ParseUint(m[1], 10, 16)
			return uint(n), err == nil && n > 0
		}
	}
	return 0, false
}

// openPage prints the URL and opens it.
func openPage(e cli.Env, url string) error {
	if _, err := fmt.Fprintln(e.Stdout, url); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if err := browse(e, url); err != nil {
		fmt.Fprintf(e.Stderr, "kubectl ullage open: open the URL in a browser: %s\n", printable.Line(err.Error()))
	}
	fmt.Fprintln(e.Stderr, "kubectl ullage open: forwarding until Ctrl-C")
	return nil
}
