package sinks

import (
	"crypto/tls"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// server is a server to which a sink copies.
type server interface {
	start()
	Kill()
	Signal(sig os.Signal) error
	certificate(until time.Time)
	address() string
	pair() tls.Certificate
}

func restart(s server) {
	s.Kill()
	s.start()
}

// outage is a fault of a server or the network.
type outage struct {
	name       string
	proxy      string                 // what the proxy in front of the server does; empty: no proxy
	kind       string                 // kind of error that the sink counts before the outage ends; empty: no error is certain
	lasts      time.Duration          // after begin, if no error is certain
	begin, end func(r *rig, s server) // nil: nothing
}

// outages can happen to any server over HTTP.
var outages = []outage{
	{name: "none"},
	{name: "killed and restarted", kind: "unavailable", begin: func(_ *rig, s server) { s.Kill() }, end: func(_ *rig, s server) { s.start() }},
	{name: "stands still", lasts: 5 * time.Second,
		begin: func(r *rig, s server) { r.must(s.Signal(unix.SIGSTOP)) }, end: func(r *rig, s server) { r.must(s.Signal(unix.SIGCONT)) }},
	{name: "has an expired certificate", kind: "unavailable",
		begin: func(_ *rig, s server) { s.certificate(time.Now().Add(-time.Minute)); restart(s) },
		end:   func(_ *rig, s server) { s.certificate(time.Now().Add(time.Hour)); restart(s) }},
	{name: busy, proxy: busy, kind: "busy"},
	{name: late, proxy: late, kind: "busy"},
	{name: cuts, proxy: cuts, kind: "unavailable"},
	{name: cutsEarly, proxy: cutsEarly, kind: "unavailable"},
	{name: crawls, proxy: crawls, lasts: 20 * time.Second}, // until a request has timed out
	{name: hangs, proxy: hangs, lasts: 5 * time.Second},
	{name: redirects, proxy: redirects, kind: "unavailable"},
}

// way starts the proxy that an outage needs. It returns nil if the outage needs no proxy.
func (o outage) way(t *testing.T, s server) *proxy {
	t.Helper()
	if o.proxy == "" {
		return nil
	}
	return newProxy(t, s.address(), s.pair())
}

// endpoint returns the URL of the proxy, or nothing without a proxy.
func (p *proxy) endpoint() string {
	if p == nil {
		return ""
	}
	return p.URL
}

// run begins an outage and ends it. In between it calls while, or if that is nil, waits as long as the outage lasts.
func (o outage) run(r *rig, s server, way *proxy, while func()) {
	r.Helper()
	if way != nil {
		way.fault.Store(o.proxy)
	}
	if o.begin != nil {
		o.begin(r, s)
	}
	if o.kind != "" {
		r.fails(o.kind)
	}
	if while == nil {
		while = func() { time.Sleep(o.lasts) }
	}
	while()
	if way != nil {
		lab.Eventually(r, patience, "the proxy spoils requests", func() bool { return way.faults.Load() > 0 })
		way.fault.Store(passes)
	}
	if o.end != nil {
		o.end(r, s)
	}
}
