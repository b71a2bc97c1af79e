package crash

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

const (
	tortureTmpfs = "12Mi"
	tortureTime  = time.Minute         // unless ULLAGE_TORTURE says otherwise
	tortureRound = 15 * time.Second    // for the lives of one round, one after the other
	tortureMost  = mostMemory + 64<<20 // with the largest queue
)

// TestTorture runs rounds of sidecars whose settings are drawn from their extremes. Each sidecar is
// stopped, killed or terminated at random moments, while several writers write and rotate, and the
// destination is full from time to time. In the end, every line is persisted once and in order, or
// counted by a marker or as withheld, and SIGTERM drains the source.
//
// ULLAGE_TORTURE sets the length, for instance 10m. The flag -seed repeats a round.
func TestTorture(t *testing.T) {
	length := tortureTime
	if text := os.Getenv("ULLAGE_TORTURE"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal("ULLAGE_TORTURE: ", err)
		}
	}
	v, err := lab.NewVolume(t.TempDir(), "2G", "defaults")
	t.Cleanup(v.Remove)
	disk := v.Dir
	if err != nil {
		disk = t.TempDir()
		t.Logf("the destination is never full; that needs %v", err)
	}
	random := *seed
	if random == 0 {
		random = rand.Uint64N(1 << 40)
	}
	for end := time.Now().Add(length); time.Now().Before(end); random++ {
		green := t.Run(fmt.Sprintf("seed=%d", random), func(t *testing.T) { newTorture(t, random, disk, err == nil).run() })
		if !green || *seed != 0 {
			return
		}
	}
}

// torture is one round.
type torture struct {
	*testing.T
	watch
	rng    *rand.Rand
	seed   uint64
	dest   string
	filler string // a file that fills the destination; empty: the destination is never full
	floods []*lab.Flooding
	side   *lab.Sidecar
	ends   map[string]int // how often each kind of end occurred
	flags  []string       // of the current sidecar
}

func newTorture(t *testing.T, seed uint64, disk string, fills bool) *torture {
	source := lab.Tmpfs(t, strings.TrimSuffix(tortureTmpfs, "i"))
	r := &torture{T: t, watch: watch{source: source}, rng: rand.New(rand.NewPCG(seed, 4)), seed: seed,
		dest: filepath.Join(disk, fmt.Sprint("dest-", seed)), ends: map[string]int{}}
	if fills {
		r.filler = filepath.Join(disk, "filler")
	}
	t.Cleanup(func() { _ = os.RemoveAll(r.dest); r.empty() })
	// Each archive has its own name, so none is overwritten while no sidecar runs.
	for i, flood := range []lab.Flood{
		{Rate: 500_000 << r.rng.IntN(4), Files: 1000, FileBytes: 50_000 << r.rng.IntN(5)},
		{Rate: 100_000 << r.rng.IntN(4), Files: 1000, FileBytes: 20_000 << r.rng.IntN(5)},
		{Rate: 10_000 << r.rng.IntN(8)},
	} {
		flood.Path, flood.Seed = filepath.Join(source, stream(i)), seed+uint64(i)
		r.floods = append(r.floods, lab.RunFlood(t, flood))
	}
	return r
}

func (r *torture) run() {
	defer func() {
		if r.Failed() {
			r.Logf("repeat it with: go test ./test/crash -run 'TestTorture$' -args -seed=%d", r.seed)
			r.Logf("the last sidecar had %q and said:\n%s", r.flags, r.side.Stderr())
		}
	}()
	lives := 0
	for end := time.Now().Add(tortureRound); time.Now().Before(end); lives++ {
		r.start(nil)
		r.torment()
	}
	var reports []lab.FloodReport
	for _, f := range r.floods {
		report, err := f.Stop()
		if err != nil {
			r.Fatal(err)
		}
		reports = append(reports, report)
	}
	r.empty()
	r.start(map[string]string{"reclaim": []string{"auto", "punch", "unlink"}[r.rng.IntN(3)]})
	r.terminate()
	r.check(r.T, tortureMost)
	for i, report := range reports {
		r.settle(stream(i), report)
	}
	r.Logf("%d lives: %v; at most %.1f MiB of memory", lives+1, r.ends, float64(r.memory)/(1<<20))
}

// start starts a sidecar with drawn settings.
func (r *torture) start(fixed map[string]string) {
	r.Helper()
	r.flags = draw(r.rng, fixed)
	r.side = start(r.T, r.source, r.dest, r.flags)
	if r.rng.IntN(4) > 0 { // otherwise the torment begins during the start
		if _, err := r.side.Addr(lab.Patience); err != nil {
			r.Fatal(err)
		}
	}
}

// torment causes faults while the sidecar lives, and then ends it.
func (r *torture) torment() {
	r.Helper()
	for range r.rng.IntN(4) {
		r.lives(700)
		switch r.rng.IntN(4) {
		case 0, 1:
			r.signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(r.rng.IntN(700)) * time.Millisecond)
			r.signal(syscall.SIGCONT)
			r.ends["stopped"]++
		case 2:
			r.fill()
		case 3:
			r.empty()
		}
	}
	r.lives(300)
	switch r.rng.IntN(3) {
	case 0:
		r.empty()
		r.terminate()
	case 1: // killed, perhaps in the middle of draining
		r.signal(syscall.SIGTERM)
		time.Sleep(time.Duration(r.rng.IntN(800)) * time.Millisecond)
		r.side.Kill()
		r.ends["killed while draining"]++
	default:
		r.side.Kill()
		r.ends["killed"]++
	}
}

// lives lets the sidecar live for at most that many milliseconds.
func (r *torture) lives(most int) {
	r.Helper()
	if r.live(r.side, time.Duration(r.rng.IntN(most))*time.Millisecond); r.err != nil {
		r.Fatal(r.err)
	}
}

func (r *torture) signal(sig syscall.Signal) {
	r.Helper()
	if err := r.side.Signal(sig); err != nil {
		r.Fatal(err)
	}
}

// terminate requires that SIGTERM drains, whether or not writers still write. It first waits until the process
// handles the signal, which would otherwise kill it.
func (r *torture) terminate() {
	r.Helper()
	if _, err := r.side.Addr(lab.Patience); err != nil {
		r.Fatal(err)
	}
	if err := r.side.Stop(lab.Patience); err != nil {
		r.Fatal(err)
	}
	r.ends["drained"]++
}

// fill leaves little or no free space in the destination.
func (r *torture) fill() {
	if r.filler == "" {
		return
	}
	r.empty()
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(r.filler), &st); err != nil {
		r.Fatal(err)
	}
	f, err := os.Create(r.filler)
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		r.Fatal(err)
	}
	left := []int64{0, 4 << 10, 64 << 10, 400 << 10}[r.rng.IntN(4)]
	if err == nil {
		// The sidecar uses some of the space meanwhile, so the test tries smaller and smaller sizes.
		for size := int64(st.Bavail)*int64(st.Bsize) - left; size > 0 && unix.Fallocate(int(f.Fd()), 0, 0, size) != nil; {
			size -= 256 << 10
		}
		f.Close()
	}
	r.ends["full"]++
}

// empty frees the space that fill took.
func (r *torture) empty() {
	if r.filler != "" {
		_ = os.Remove(r.filler) // the file may not exist
	}
}

// settle accounts for each line of a flood.
func (r *torture) settle(stream string, report lab.FloodReport) {
	r.Helper()
	withheld, err := lab.Withheld(r.source, stream)
	if err != nil {
		r.Fatal(err)
	}
	account, err := lab.SettleWithheld(r.dest, stream, report, withheld)
	if err != nil || !account.Exact() {
		r.Errorf("%s: %v, error %v; want an exact account and no error", stream, account, err)
	}
	saved, err := r.saved(stream+"+detail", report)
	if err != nil {
		r.Errorf("%s: saved lines: %v", stream, err)
	}
	r.Logf("%s: %v; %d saved", stream, account, saved)
}

// saved checks that the saved lines are lines of the flood, each once and in order, and returns their number. If a
// full tmpfs has cut the last line, a drain adds a newline to it.
func (r *torture) saved(stream string, report lab.FloodReport) (n int, err error) {
	var text bytes.Buffer
	if err := lab.ReadStream(&text, r.dest, stream); err != nil {
		return 0, err
	}
	rest := text.Bytes()
	for line := range lab.LinesOf(report) {
		if len(rest) == 0 {
			break
		}
		if after, is := bytes.CutPrefix(rest, line.Text); is {
			rest = after
			n++
		}
	}
	if len(rest) > 0 && bytes.Equal(rest, append(lab.Unended(report), '\n')) {
		return n + 1, nil
	}
	if len(rest) > 0 {
		return n, fmt.Errorf("after %d lines comes a line that is not of the flood, is repeated, or comes too late: %.200q", n, rest)
	}
	return n, nil
}
