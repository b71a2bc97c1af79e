package fault

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// spooledBytes shows that lines were moved to the spool, whether or not any were dropped.
const spooledBytes = "ullage_spooled_bytes"

// pressed is a flood, a sidecar with small segments and, in most tests, a destination that is slow or stopped.
type pressed struct {
	*testing.T
	source, dest string
	flags        []string
	side         *lab.Sidecar
	flood        *lab.Flooding
	report       lab.FloodReport
}

// newPressed starts a sidecar on a tmpfs of the given size. The caller starts the flood.
func newPressed(t *testing.T, size, dest string, flags ...string) *pressed {
	t.Helper()
	needRoot(t)
	p := &pressed{T: t, source: lab.Tmpfs(t, size), dest: dest, flags: append([]string{"--sync-interval", "100ms"}, flags...)}
	p.side = lab.Run(t, p.source, p.dest, p.flags...)
	if _, err := p.side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	return p
}

// pour starts the flood with that many bytes a second.
func (p *pressed) pour(rate int64) {
	p.Helper()
	p.flood = lab.RunFlood(p.T, lab.Flood{Path: filepath.Join(p.source, stream), Seed: uint64(time.Now().UnixNano()), Rate: rate})
	lab.Eventually(p, patience, "the flood has begun", func() bool { return p.flood.Lines() > 0 })
}

// lasts lets time pass while the flood continues.
func (p *pressed) lasts(d time.Duration) { time.Sleep(d) }

// stop ends the flood.
func (p *pressed) stop() {
	p.Helper()
	var err error
	if p.report, err = p.flood.Stop(); err != nil {
		p.Fatal(err)
	}
}

// persists waits until further lines are durable.
func (p *pressed) persists() {
	p.Helper()
	lab.Eventually(p, 2*patience, "lines are persisted", func() bool {
		before, err := p.side.Metric(`ullage_persisted_bytes_total{stream="` + stream + `"}`)
		if err != nil {
			p.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		after, err := p.side.Metric(`ullage_persisted_bytes_total{stream="` + stream + `"}`)
		return err == nil && after > before
	})
}

// settles stops the flood and then the sidecar, and draws up the account, which must be exact.
func (p *pressed) settles() lab.Account {
	p.Helper()
	p.stop()
	if err := p.side.Stop(3 * patience); err != nil {
		p.Error(err)
	}
	account, err := lab.Settle(p.dest, stream, p.report)
	if err != nil || !account.Exact() {
		p.Errorf("the account is not exact, or has the error %v; want an exact account and no error; the sidecar said:\n%s", err, p.side.Stderr())
	}
	happened(p.T, account, p.flood.Latency(0).Slowest)
	p.Logf("%v\n%.1f MB written; writes: %v", account, float64(p.report.Bytes)/1e6, p.flood.Latency(0))
	return account
}

// counted returns how many lines of the flood's stream were dropped according to the metrics.
func (p *pressed) counted() int { return p.countedOf(stream) }

func (p *pressed) countedOf(stream string) int {
	p.Helper()
	sum := 0.0
	for _, reason := range []string{"discard", "drop"} {
		for _, level := range []string{"error", "warning", "info", "debug", "trace", "unknown"} {
			n, err := p.side.Metric(`ullage_dropped_lines_total{level="` + level + `",reason="` + reason + `",stream="` + stream + `"}`)
			if err != nil {
				p.Fatal(err)
			}
			sum += n
		}
	}
	return int(sum)
}

func (p *pressed) metric(series string) float64 {
	p.Helper()
	value, err := p.side.Metric(series)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// takes creates a file of that many bytes, as another program would.
func takes(t *testing.T, dir string, bytes int64) (path string) {
	t.Helper()
	path = filepath.Join(dir, "heap.hprof")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, bytes); err != nil {
		t.Fatal(err)
	}
	return path
}

// saysOf waits until the sidecar's output contains all the words.
func saysOf(t *testing.T, side *lab.Sidecar, words ...string) {
	t.Helper()
	defer func() { t.Logf("the sidecar said:\n%s", side.Stderr()) }()
	lab.Eventually(t, patience, "the sidecar logs all the words", func() bool {
		for _, word := range words {
			if !strings.Contains(side.Stderr(), word) {
				return false
			}
		}
		return true
	})
}
