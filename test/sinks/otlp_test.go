package sinks

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lineFault is something that a server or the network does.
type lineFault struct {
	name  string
	proxy bool // the fault is the proxy's
	does  func(r *lineRig, p *proxy)
}

// outages are faults of the server and of the network that need nothing but time.
func outages() []lineFault {
	return []lineFault{
		{"none", false, func(*lineRig, *proxy) {}},
		{"the server is killed, and back after 3 s", false, func(r *lineRig, _ *proxy) {
			r.collector.kill()
			r.fails("unavailable")
			time.Sleep(3 * time.Second)
			r.collector.start()
		}},
		{"the server stands still for 5 s", false, func(r *lineRig, _ *proxy) {
			r.collector.signal(unix.SIGSTOP)
			time.Sleep(5 * time.Second)
			r.collector.signal(unix.SIGCONT)
		}},
		{"503 with Retry-After", true, func(r *lineRig, p *proxy) {
			p.fault.Store(busy)
			r.fails("busy")
			time.Sleep(3 * time.Second)
		}},
		{"429 by a clock that is an hour behind", true, func(r *lineRig, p *proxy) {
			p.fault.Store(late)
			r.fails("busy")
			time.Sleep(3 * time.Second)
		}},
		{"the connection is cut in the request", true, func(r *lineRig, p *proxy) {
			p.fault.Store(cutsEarly)
			r.fails("unavailable")
		}},
		{"the connection is cut in the answer", true, func(r *lineRig, p *proxy) {
			p.fault.Store(cuts)
			r.fails("unavailable")
		}},
		{"the answer is lost, the request is not", true, func(r *lineRig, p *proxy) {
			p.fault.Store(loses)
			r.fails("unavailable")
		}},
		{"no answer for 5 s", true, func(r *lineRig, p *proxy) {
			p.fault.Store(hangs)
			time.Sleep(5 * time.Second)
			p.CloseClientConnections()
		}},
		{"1 KiB a second, until a request has had its time", true, func(r *lineRig, p *proxy) {
			p.fault.Store(crawls)
			time.Sleep(20 * time.Second)
		}},
		{"a redirect to elsewhere", true, func(r *lineRig, p *proxy) {
			p.fault.Store(redirects)
			r.fails("unavailable")
		}},
	}
}

func TestOTLPHasEachLine(t *testing.T) {
	table := sinkTable(t, "OTLP: a Collector that fails")
	faults := append(outages(),
		lineFault{"wrong credentials, then right ones", true, func(r *lineRig, p *proxy) {
			c := r.collector
			writeFile(r.T, c.headers(), "Authorization: "+wrongToken, 0o600)
			r.fails("unavailable")
			writeFile(r.T, c.headers(), "Authorization: "+rightToken, 0o600)
		}},
		lineFault{"the certificate expires and is renewed", false, func(r *lineRig, _ *proxy) {
			c := r.collector
			c.kill()
			c.certificate(time.Now().Add(-time.Minute))
			c.start()
			r.fails("unavailable")
			c.kill()
			c.certificate(time.Now().Add(time.Hour))
			c.start()
		}},
		lineFault{"the server's disk is full", false, func(r *lineRig, _ *proxy) {
			filler := filepath.Join(r.collector.out, "filler")
			fill(r.T, filler)
			r.fails("")
			time.Sleep(2 * time.Second)
			r.must(os.Remove(filler))
		}},
	)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			r := faulty(t, c, f)
			o := r.settles()
			table.Add(f.name, o.lines, o.repeated, o.missing, o.changed, o.disordered, 0)
			if !o.right() {
				t.Errorf("%v; the sidecar logged:\n%s", o, r.side.Stderr())
			}
		})
	}
}

// faulty runs a rig through a fault.
func faulty(t *testing.T, c *collector, f lineFault) *lineRig {
	t.Helper()
	endpoint := c.address()
	var p *proxy
	if f.proxy {
		p = newProxyTo(t, endpoint, c.pair())
		p.token = rightToken
		endpoint = p.URL
	}
	r := newLineRig(t, c, c.sink(endpoint), 5000)
	r.arrives(2000)
	f.does(r, p)
	if f.proxy {
		p.fault.Store(passes)
	}
	r.arrives(2000)
	return r
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
}

// A sidecar is killed at any moment: what it sends again has the same identity.
func TestOTLPAfterKills(t *testing.T) {
	c := newCollector(t)
	r := newLineRig(t, c, c.sink(c.address()), 5000)
	r.killedOften(30)
	o := r.settles()
	t.Logf("after 30 kills: %v", o)
	if !o.right() {
		t.Errorf("%v", o)
	}
}

// killedOften kills the sidecar at random moments.
func (r *lineRig) killedOften(times int) {
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range times {
		time.Sleep(time.Duration(20+random.IntN(600)) * time.Millisecond)
		r.side.Kill()
		r.start()
	}
	r.arrives(1)
}
