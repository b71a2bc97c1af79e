package sinks

import (
	"crypto/tls"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// server is the server of a sink.
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
	proxy      string                 // the fault of the proxy in front of the server; empty: no proxy
	kind       string                 // kind of error that the sink must count before the outage ends; empty: there may be no error
	lasts      time.Duration          // how long the outage lasts after begin
	begin, end func(r *rig, s server) // nil: nothing
}

// outages are the outages that any HTTP server can have.
var outages = []outage{
	{name: "none"},
	{name: "killed and restarted", kind: "unavailable", begin: func(_ *rig, s server) { s.Kill() }, end: func(_ *rig, s server) { s.start() }},
	{name: "is suspended", lasts: 5 * time.Second,
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

// way starts the proxy for an outage. It returns nil if the outage needs no proxy.
func (o outage) way(t *testing.T, s server) *proxy {
	t.Helper()
	if o.proxy == "" {
		return nil
	}
	return newProxy(t, s.address(), s.pair())
}

// endpoint returns the URL of the proxy, or the empty string if p is nil.
func (p *proxy) endpoint() string {
	if p == nil {
		return ""
	}
	return p.URL
}

// run begins an outage and ends it. In between, it calls while. If while is nil, it waits for o.lasts instead.
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
		lab.Eventually(r, patience, "a request meets the fault of the proxy", func() bool { return way.faults.Load() > 0 })
		way.fault.Store(passes)
	}
	if o.end != nil {
		o.end(r, s)
	}
}
