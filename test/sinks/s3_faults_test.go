package sinks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// fault is a row of the matrix. It lasts while the destination is frozen until lines are
// dropped.
type fault struct {
	name  string
	proxy string // what the proxy does; empty: there is none
	kind  string // of the error that the sink must count before the fault ends; empty: none is certain
	begin func(p *pressed)
	end   func(p *pressed)
}

var s3Faults = []fault{
	{name: "none"},
	{name: "killed and restarted", kind: "unavailable", begin: func(p *pressed) { p.gateway.kill() }, end: func(p *pressed) { p.gateway.start() }},
	{name: "stands still",
		begin: func(p *pressed) { p.must(p.gateway.cmd.Process.Signal(unix.SIGSTOP)) },
		end:   func(p *pressed) { p.must(p.gateway.cmd.Process.Signal(unix.SIGCONT)) }},
	{name: "has another secret", kind: "unavailable",
		begin: func(p *pressed) { p.gateway.secret += "x"; p.gateway.restart() },
		end:   func(p *pressed) { p.gateway.secret = p.gateway.secret[:len(p.gateway.secret)-1]; p.gateway.restart() }},
	{name: "has an expired certificate", kind: "unavailable",
		begin: func(p *pressed) { p.gateway.certificate(time.Now().Add(-time.Minute)); p.gateway.restart() },
		end:   func(p *pressed) { p.gateway.certificate(time.Now().Add(time.Hour)); p.gateway.restart() }},
	{name: "has no bucket", kind: "unavailable",
		begin: func(p *pressed) { p.must(os.Rename(p.bucket(), p.bucket()+"-away")) },
		end:   func(p *pressed) { p.must(os.Rename(p.bucket()+"-away", p.bucket())) }},
	{name: "has a full disk", kind: "unavailable",
		begin: func(p *pressed) { p.fill() },
		end:   func(p *pressed) { p.must(os.Remove(p.ballast())) }},
	{name: busy, proxy: busy, kind: "busy"},
	{name: late, proxy: late, kind: "busy"},
	{name: cuts, proxy: cuts, kind: "unavailable"},
	{name: cutsEarly, proxy: cutsEarly, kind: "unavailable"},
	{name: crawls, proxy: crawls},
	{name: hangs, proxy: hangs},
	{name: redirects, proxy: redirects, kind: "unavailable"},
}

func (p *pressed) bucket() string  { return filepath.Join(p.gateway.root, bucketName) }
func (p *pressed) ballast() string { return filepath.Join(p.gateway.dir, "ballast") }

// fill leaves no space in the server's file system.
func (p *pressed) fill() {
	p.Helper()
	f, err := os.Create(p.ballast())
	p.must(err)
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// Whatever a server or the network does, while the destination stands still and lines are
// dropped: each line that was not dropped is in the bucket once, and each gap is marked there.
func TestS3Faults(t *testing.T) {
	table := lab.NewTable("S3: the server ... while lines are dropped", "the server", "written", "dropped, marked", "in the bucket", "lost or twice", "uploads again after")
	var mu sync.Mutex
	t.Run("faults", func(t *testing.T) {
		for _, f := range s3Faults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				again, account := f.run(t)
				mu.Lock()
				defer mu.Unlock()
				table.Add(f.name, account.Written.Total(), account.Dropped.Total().Total(), account.Persisted.Total(), account.Unmarked+account.Twice, again)
			})
		}
	})
	table.Print(t)
}

func (f fault) run(t *testing.T) (again time.Duration, account lab.Account) {
	g := newGatewayIn(t, lab.Tmpfs(t, "48m"))
	endpoint := ""
	var way *proxy
	if f.proxy != "" {
		way = newProxy(t, g)
		endpoint = way.URL
	}
	p := newPressed(t, g, g.url(endpoint, ""))
	p.uploads(2)
	if way != nil {
		way.fault.Store(f.proxy)
	}
	if f.begin != nil {
		f.begin(p)
	}
	if f.kind != "" {
		p.fails(f.kind)
	}
	p.drops()
	if way != nil {
		lab.Eventually(t, patience, "the proxy spoils requests", func() bool { return way.faults.Load() > 0 })
		way.fault.Store(passes)
	}
	if f.end != nil {
		f.end(p)
	}
	ended := time.Now()
	p.uploads(2)
	again = time.Since(ended)
	return again, p.settles()
}

// A sidecar is killed at any moment, between freezes in which lines are dropped: what it
// uploads again are the same bytes.
func TestS3AfterKills(t *testing.T) {
	g := newGatewayIn(t, lab.Tmpfs(t, "96m"))
	p := newPressed(t, g, g.url("", ""))
	p.uploads(1)
	const kills = 30
	for n := range kills {
		if n%10 == 5 {
			p.drops()
		}
		time.Sleep(time.Duration(20+(n*7919)%600) * time.Millisecond) // a moment that nothing waits for
		p.side.Kill()
		p.start()
	}
	p.uploads(1)
	account := p.settles()
	table := lab.NewTable("S3: the sidecar is killed", "kills", "written", "dropped, marked", "in the bucket", "lost or twice")
	table.Add(kills, account.Written.Total(), account.Dropped.Total().Total(), account.Persisted.Total(), account.Unmarked+account.Twice)
	table.Print(t)
}

// A server that says 200 and keeps nothing is found out by the index: it names what is not
// there, and how many lines that is.
func TestS3ThatKeepsNothing(t *testing.T) {
	g := newGateway(t)
	way := newProxy(t, g)
	r := newRig(t, g, g.url(way.URL, ""))
	r.uploads(1)
	way.fault.Store(swallows)
	r.uploads(2)
	way.fault.Store(passes)
	r.uploads(1)
	r.stop()
	r.must(r.side.Stop(3 * patience))
	named, lines := g.indexed()
	have := g.objects()
	missing, lost := 0, uint64(0)
	for key, n := range named {
		if !have[key] && strings.Contains(key, "/stream="+stream+"/") {
			missing++
			lost += n
		}
	}
	balance, err := lab.Check(g.collect(), stream, r.writer)
	r.must(err)
	if missing < 2 || lost == 0 || uint64(balance.Lost) != lost {
		t.Errorf("the index misses %d objects with %d lines; %v", missing, lost, balance)
	}
	t.Logf("%d lines are indexed; %d objects with %d lines are not there: %v", lines, missing, lost, fmt.Sprint(balance))
}
