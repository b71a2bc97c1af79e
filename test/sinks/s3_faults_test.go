package sinks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// s3Outages are the outages of an S3 server.
var s3Outages = []outage{
	{name: "has another secret", kind: "unavailable",
		begin: func(_ *rig, s server) { s.(*gateway).secret += "x"; restart(s) },
		end:   func(_ *rig, s server) { g := s.(*gateway); g.secret = strings.TrimSuffix(g.secret, "x"); restart(s) }},
	{name: "has no bucket", kind: "unavailable",
		begin: func(r *rig, s server) { r.must(os.Rename(s.(*gateway).bucket(), s.(*gateway).bucket()+"-away")) },
		end:   func(r *rig, s server) { r.must(os.Rename(s.(*gateway).bucket()+"-away", s.(*gateway).bucket())) }},
	{name: "has a full disk", kind: "unavailable",
		begin: func(r *rig, s server) { lab.Fill(r, filepath.Join(s.(*gateway).dir, "ballast")) },
		end:   func(r *rig, s server) { r.must(os.Remove(filepath.Join(s.(*gateway).dir, "ballast"))) }},
}

// Whatever a server or the network does while the destination is frozen and lines are dropped, each line that was not
// dropped is in the bucket once, and each gap is marked there.
func TestS3Faults(t *testing.T) {
	table := lab.NewTable("S3: the server ... while lines are dropped", "the server", "written", "dropped, marked", "in the bucket", "lost or duplicated", "time until uploads resume")
	var mu sync.Mutex
	t.Run("faults", func(t *testing.T) {
		for _, f := range slices.Concat(outages, s3Outages) {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				again, account := suffers(t, f)
				mu.Lock()
				defer mu.Unlock()
				table.Add(f.name, account.Written.Total(), account.Dropped.Total().Total(), account.Persisted.Total(), account.Unmarked+account.Twice, again)
			})
		}
	})
	table.Print(t)
}

// suffers runs a sidecar through an outage of its S3 server during which lines are dropped.
func suffers(t *testing.T, f outage) (again time.Duration, account lab.Account) {
	g := newGatewayIn(t, lab.Tmpfs(t, "48m"))
	way := f.way(t, g)
	r := newBucketRig(t, g, g.url(way.endpoint(), ""))
	r.floods()
	r.arrives(2)
	f.run(r.rig, g, way, r.drops)
	ended := time.Now()
	r.arrives(2)
	again = time.Since(ended)
	return again, r.settlesFlood(g.collect)
}

// The sidecar is killed at arbitrary moments, and now and then the destination freezes and lines are dropped. When the
// sidecar uploads an object again, the bytes are the same.
func TestS3AfterKills(t *testing.T) {
	g := newGatewayIn(t, lab.Tmpfs(t, "96m"))
	r := newBucketRig(t, g, g.url("", ""))
	r.floods()
	r.arrives(1)
	const kills = 30
	r.killedOften(kills, func(n int) {
		if n%10 == 5 {
			r.drops()
		}
	})
	r.arrives(1)
	account := r.settlesFlood(g.collect)
	table := lab.NewTable("S3: the sidecar is killed", "kills", "written", "dropped, marked", "in the bucket", "lost or duplicated")
	table.Add(kills, account.Written.Total(), account.Dropped.Total().Total(), account.Persisted.Total(), account.Unmarked+account.Twice)
	table.Print(t)
}

// The index reveals a server that answers 200 and stores nothing: it names the missing objects and says how many lines
// each one had.
func TestS3ThatKeepsNothing(t *testing.T) {
	g := newGateway(t)
	way := newProxy(t, g.address(), g.pair())
	r := newBucketRig(t, g, g.url(way.URL, ""))
	r.begins(10_000)
	r.arrives(1)
	way.fault.Store(swallows)
	r.arrives(2)
	way.fault.Store(passes)
	r.arrives(1)
	r.drains()
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
		t.Errorf("the index names %d missing objects with %d lines; %v; want at least 2 objects, and as many lines lost as they had", missing, lost, balance)
	}
	t.Logf("%d lines are indexed; %d objects with %d lines are missing: %v", lines, missing, lost, fmt.Sprint(balance))
}
