package sinks

import (
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// frozen is a file system that can stand still.
type frozen struct {
	testing.TB
	dir string
}

// newFrozen makes an ext4 on a loop device, in memory.
func newFrozen(tb testing.TB) *frozen {
	tb.Helper()
	lab.NeedsRoot(tb, "it mounts and freezes file systems")
	image := filepath.Join(lab.Tmpfs(tb, "300m"), "image")
	dir := tb.TempDir()
	for _, args := range [][]string{{"truncate", "-s", "256M", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if _, err := lab.Command(patience, args[0], args[1:]...); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return &frozen{TB: tb, dir: dir}
}

// freeze stalls all writes until thaw.
func (f *frozen) freeze() (thaw func()) {
	f.Helper()
	if _, err := lab.Command(patience, "fsfreeze", "-f", f.dir); err != nil {
		f.Fatal(err)
	}
	cold := true
	thaw = func() {
		if cold {
			cold = false
			if _, err := lab.Command(patience, "fsfreeze", "-u", f.dir); err != nil {
				f.Error(err)
			}
		}
	}
	f.Cleanup(thaw)
	return thaw
}

// pressed is a rig whose destination can stand still until lines are dropped.
type pressed struct {
	*rig
	volume *frozen
	flood  *lab.Flooding
}

func newPressed(t *testing.T, g *gateway, sinkURL string) *pressed {
	t.Helper()
	v := newFrozen(t)
	p := &pressed{volume: v, rig: &rig{T: t, gateway: g, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(v.dir, "dest"),
		env: []string{"AWS_ACCESS_KEY_ID=ullage", "AWS_SECRET_ACCESS_KEY=" + g.secret},
		flags: []string{"--sync-interval", "100ms", "--segment-bytes", "64Ki", "--pod-namespace", "shop", "--pod-name", "web-0", "--drain-timeout", "60s",
			"--budget", "1Mi", "--sink", sinkURL}}}
	p.start()
	p.flood = lab.RunFlood(t, lab.Flood{Path: filepath.Join(p.source, stream), Seed: 1, Rate: 3 << 20})
	return p
}

// drops freezes the destination until lines are dropped.
func (p *pressed) drops() {
	p.Helper()
	thaw := p.volume.freeze()
	defer thaw()
	lab.Eventually(p, 2*patience, "lines are dropped", func() bool {
		_, text, err := p.side.Get("/metrics")
		return err == nil && droppedSome.MatchString(text)
	})
}

// settles drains everything, and draws up the account of the bucket.
func (p *pressed) settles() lab.Account {
	p.Helper()
	report, err := p.flood.Stop()
	p.must(err)
	if err := p.side.Stop(3 * patience); err != nil {
		p.Error(err)
	}
	account, err := lab.Settle(p.gateway.collect(), stream, report)
	p.Logf("in the bucket: %v", account)
	if err != nil || !account.Exact() || account.Dropped.Total().Total() == 0 {
		p.Errorf("the bucket: %v, error: %v; the sidecar logged:\n%s", account, err, p.side.Stderr())
	}
	return account
}

var droppedSome = regexp.MustCompile(`(?m)^ullage_dropped_lines_total\{.* [1-9]`)
