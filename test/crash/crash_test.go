package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/test/lab"
)

var seed = flag.Uint64("seed", 0, "seed of the moments of the kills; 0 takes a new one")

func TestMain(m *testing.M) { lab.Main(m) }

const (
	linesPerSecond = 20_000
	mostMemory     = 32 << 20 // of the sidecar, far above its usual memory
	mostTmpfs      = 64 << 20
)

// series describes a series of sidecars on one source, each of them killed.
type series struct {
	flags   []string
	outputs []lab.Output // without Path, which follows from the index
	lives   int          // the lives that end by kill -9; one more ends by SIGTERM
	life    func(rng *rand.Rand, n int) time.Duration
}

// anyMoment returns how long a sidecar lives. Most are killed while they work, and one in four during its
// start, while the program loads, restores, or reads for the first time.
func anyMoment(rng *rand.Rand, _ int) time.Duration {
	if rng.IntN(4) == 0 {
		return time.Duration(rng.IntN(20_000)) * time.Microsecond
	}
	return 50*time.Millisecond + time.Duration(rng.IntN(350_000))*time.Microsecond
}

// inBursts returns 5 to 30 ms, so that many sidecars in a row commit nothing. Every tenth sidecar lives longer.
func inBursts(rng *rand.Rand, n int) time.Duration {
	if n%10 == 9 {
		return 500*time.Millisecond + time.Duration(rng.IntN(300_000))*time.Microsecond
	}
	return 5*time.Millisecond + time.Duration(rng.IntN(25_000))*time.Microsecond
}

// rotating is a log of 20 MiB in total, in 5 files, which is HotSpot's default.
var rotating = lab.Output{Rate: linesPerSecond, Files: 5, FileBytes: 4 << 20}

// busy causes small segments and frequent commits, so that kills hit every phase.
var busy = []string{"--segment-bytes", "1Mi", "--sync-interval", "100ms"}

func TestKilledAtAnyMoment(t *testing.T) {
	for _, compress := range []string{"zstd", "none"} {
		t.Run(compress, func(t *testing.T) {
			run(t, series{
				flags:   append([]string{"--compress", compress}, busy...),
				outputs: []lab.Output{rotating},
				lives:   40,
				life:    anyMoment,
			})
		})
	}
}

func TestKilledWithDefaultSettings(t *testing.T) {
	// Archives have two digits. Commits are a second apart, so most lives end with many lines that are appended
	// but not committed.
	padded := lab.Output{Rate: linesPerSecond, Files: 12, FileBytes: 2 << 20}
	run(t, series{outputs: []lab.Output{padded}, lives: 12, life: func(rng *rand.Rand, n int) time.Duration {
		if n%3 == 2 {
			return 1100*time.Millisecond + time.Duration(rng.IntN(600_000))*time.Microsecond
		}
		return anyMoment(rng, n)
	}})
}

func TestKilledWithThreeJVMs(t *testing.T) {
	third := rotating
	third.Rate = linesPerSecond / 3
	third.FileBytes, third.Files = 1<<20, 10
	padded := third
	padded.Files = 12
	run(t, series{flags: busy, outputs: []lab.Output{third, third, padded}, lives: 35, life: anyMoment})
}

func TestKilledInRapidSuccession(t *testing.T) {
	run(t, series{flags: busy, outputs: []lab.Output{rotating}, lives: 150, life: inBursts})
}

// run repeatedly kills and starts a sidecar while its writers write, lets the last sidecar drain,
// and compares the persisted lines with the written lines.
func run(t *testing.T, s series) {
	random := *seed
	if random == 0 {
		random = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(random, 1))
	source, dest := lab.Tmpfs(t, "64m"), t.TempDir()
	stop, writers := startWriters(t, source, s.outputs, random)
	w := watch{source: source}
	for n := range s.lives {
		side := start(t, source, dest, s.flags)
		w.live(side, s.life(rng, n))
		w.catchUp(t, side)
		side.Kill()
		if w.err != nil {
			t.Fatal(w.err)
		}
	}
	if err := stop(); err != nil {
		t.Fatalf("a writer failed, as if the tmpfs had been full: %v", err)
	}
	drain(t, start(t, source, dest, s.flags))
	for i, writer := range writers {
		balance, err := lab.Check(dest, stream(i), writer)
		if err != nil || !balance.Exact() {
			t.Errorf("seed %d, %s: %v, error %v; want an exact balance and no error", random, stream(i), balance, err)
		}
		t.Logf("%s: %v; slowest write %s", stream(i), balance, writer.Slowest())
	}
	t.Logf("seed %d: %d kills; at most %.1f MiB of memory and %.1f MiB of tmpfs",
		random, s.lives, float64(w.memory)/(1<<20), float64(w.tmpfs)/(1<<20))
	w.check(t, mostMemory)
}

// drain waits until the last sidecar is up and ends it with SIGTERM.
func drain(t *testing.T, last *lab.Sidecar) {
	t.Helper()
	if _, err := last.Addr(lab.Patience); err != nil {
		t.Fatal(err)
	}
	if err := last.Stop(lab.Patience); err != nil {
		t.Error(err)
	}
}

func stream(i int) string { return fmt.Sprintf("gc-%d.log", i) }

func start(t *testing.T, source, dest string, flags []string) *lab.Sidecar {
	t.Helper()
	args := append([]string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0"}, flags...)
	side, err := lab.Start(lab.Binary(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	return side
}

// startWriters starts one writer for each output. stop ends them and returns their errors.
func startWriters(t *testing.T, source string, outputs []lab.Output, random uint64) (stop func() error, writers []*lab.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	for i, out := range outputs {
		out.Path, out.Seed = filepath.Join(source, stream(i)), random+uint64(i)
		writer := lab.NewWriter(out)
		writers = append(writers, writer)
		g.Go(func() error { return writer.Run(ctx) })
	}
	stop = func() error {
		cancel()
		return g.Wait()
	}
	t.Cleanup(func() { _ = stop() })
	return stop, writers
}

// watch measures sidecars while they live.
type watch struct {
	source string
	memory int64 // the most of any sidecar
	tmpfs  int64 // the most that is in use on the tmpfs
	err    error
}

// live lets the sidecar live for d and measures meanwhile. A sidecar that ends by itself is an
// error.
func (w *watch) live(side *lab.Sidecar, d time.Duration) {
	const look = 25 * time.Millisecond
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 {
			break
		}
		time.Sleep(min(look, left))
		w.tmpfs = max(w.tmpfs, lab.InUse(w.source))
	}
	if peak, err := side.PeakMemory(); err == nil {
		w.memory = max(w.memory, peak)
	}
	if side.Exited() {
		w.err = errors.New("the sidecar ended by itself; it said:\n" + side.Stderr())
	}
}

// mostBehind is how many bytes of the rotating logs sidecars may leave unread. A JVM overwrites its archives even if
// they were not read, here after at least 10 MiB.
const mostBehind = 3 << 20

// catchUp lets a sidecar live longer if it and its predecessors had too little CPU time to keep up with the JVMs.
// Otherwise other work on the machine could cause losses that no kill has caused.
func (w *watch) catchUp(t *testing.T, side *lab.Sidecar) {
	t.Helper()
	if lab.InUse(w.source) < mostBehind {
		return
	}
	lab.Eventually(t, lab.Patience, "the sidecar has caught up", func() bool { return side.Exited() || lab.InUse(w.source) < mostBehind/2 })
}

// check compares the measurements with the limits, and checks that the sidecar has removed all files in the
// end.
func (w *watch) check(t *testing.T, most int64) {
	t.Helper()
	if w.memory > most || w.tmpfs > mostTmpfs {
		t.Errorf("the limit of the sidecar's memory is %d bytes and it took %d; the limit of the tmpfs is %d and it took %d",
			most, w.memory, mostTmpfs, w.tmpfs)
	}
	left, err := filepath.Glob(filepath.Join(w.source, "*.log*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files are left on the tmpfs after the drain, although all are finished and persisted: %v, error: %v", left, err)
	}
}
