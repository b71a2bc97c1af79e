package powercut

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// The approximate number of states in a short run, and the most states of one moment in a long run.
const (
	fewStates  = 1200
	manyStates = 2000
)

// TestPowerCutAtAnyMoment takes seconds, or the time in ULLAGE_POWERCUT, such as 1h.
func TestPowerCutAtAnyMoment(t *testing.T) {
	length := time.Duration(0)
	if text := os.Getenv("ULLAGE_POWERCUT"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal("ULLAGE_POWERCUT: ", err)
		}
	}
	for _, c := range []struct {
		name     string
		happens  func(s *scene, compress string)
		compress segment.Compression
		sinks    []string
	}{
		{"commits", ordinary, segment.Zstd, nil},
		{"commits_without_compression", ordinary, segment.None, nil},
		{"retention", retained, segment.Zstd, nil},
		{"cursors_of_a_sink", copied, segment.Zstd, []string{copies}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.happens(s, c.compress.String())
			if how := s.recorded(0, nil).differs(s.dest); how != "" {
				t.Fatalf("the model differs from the directory: %s", how)
			}
			began := time.Now()
			for seed := uint64(1); seed == 1 || time.Since(began) < length && !t.Failed(); seed++ {
				r, most := s.recorded(seed, nil), manyStates
				if length == 0 {
					most = max(4, fewStates/len(r.points))
				}
				for _, bad := range explore(t, r, c.compress, seed, most, c.sinks...) {
					t.Error(bad)
				}
			}
		})
	}
}

// A program that omits a necessary sync, or syncs too late, loses lines, and the account finds
// that.
func TestAMissingSyncIsFound(t *testing.T) {
	s := newScene(t)
	ordinary(s, segment.Zstd.String())
	for name, wrong := range map[string]func(*scene, []call) []call{
		"no fdatasync of segments":         without("fdatasync", stream+"/"),
		"no fsync of the stream":           without("fsync", stream),
		"no fsync of the destination":      without("fsync", ""),
		"the checkpoint precedes the sync": syncLate,
	} {
		t.Run(name, func(t *testing.T) {
			bad := explore(t, s.recorded(1, wrong), segment.Zstd, 1, 4)
			if len(bad) == 0 || !strings.Contains(strings.Join(bad, ""), "committed lines are lost") {
				t.Errorf("the missing sync was not found, want \"committed lines are lost\" in %q", bad)
			}
		})
	}
}

// If the cursor of a sink passes lines before the sink has them, the sink never gets them, and the
// account finds that.
func TestACursorThatPrecedesItsLinesIsFound(t *testing.T) {
	s := newScene(t)
	copied(s, segment.Zstd.String())
	undelivered := func(_ *scene, calls []call) []call { return slices.DeleteFunc(calls, call.delivers) }
	bad := explore(t, s.recorded(1, undelivered), segment.Zstd, 1, 4, copies)
	if len(bad) == 0 || !strings.Contains(strings.Join(bad, ""), "lines are lost for the sink") {
		t.Errorf("the wrong cursor was not found, want \"lines are lost for the sink\" in %q", bad)
	}
}

// without removes the calls with a name on a file or directory below the destination. If the path ends in a slash,
// it removes the calls on the files in that directory.
func without(name, path string) func(*scene, []call) []call {
	return func(s *scene, calls []call) []call {
		at := filepath.Join(s.dest, path)
		return slices.DeleteFunc(calls, func(c call) bool {
			is := c.target()
			return c.name == name && (is == at || strings.HasSuffix(path, "/") && strings.HasPrefix(is, at+"/"))
		})
	}
}

// syncLate moves each fdatasync of a segment after the next checkpoint.
func syncLate(s *scene, calls []call) (late []call) {
	var held []call
	for _, c := range calls {
		if c.name == "fdatasync" && strings.HasPrefix(c.target(), filepath.Join(s.dest, stream)+"/") {
			held = append(held, c)
			continue
		}
		late = append(late, c)
		if c.savesCheckpoint(s.source) {
			late, held = append(late, held...), nil
		}
	}
	return late
}

// workers returns how many states are examined at once. A starting sidecar mostly waits for the intervals of its
// loops.
func workers() int { return 8 * runtime.GOMAXPROCS(0) }

// job is one state of a moment.
type job struct {
	p point
	s state
}

// explore accounts for at most the given number of the states that a power cut may leave at each moment. It returns
// a description of each failure.
func explore(t *testing.T, r *recording, compress segment.Compression, seed uint64, most int, sinks ...string) (bad []string) {
	t.Helper()
	began := time.Now()
	jobs := make(chan job)
	var mu sync.Mutex
	var wait sync.WaitGroup
	tmpfs := lab.Tmpfs(t, "1g")
	for i := range workers() {
		m := newMachine(filepath.Join(tmpfs, fmt.Sprint(i)), compress, sinks...)
		wait.Go(func() {
			for j := range jobs {
				if err := m.account(r, j.p, j.s); err != nil {
					mu.Lock()
					bad = append(bad, fmt.Sprintf("a power cut after call %s: %v\n%s", j.p.after, err, m.log))
					mu.Unlock()
				}
			}
		})
	}
	all, different := 0, 0
	random := rand.New(rand.NewPCG(seed, 1))
	hashes, seen := maphash.MakeSeed(), map[[2]uint64]bool{}
	// The loop goes backwards: if two moments have the same state, the later one demands more.
	for _, p := range slices.Backward(r.points) {
		o := openOf(p.disk)
		o.choices(most, random, func(c choice) {
			all++
			s := o.state(c)
			key := [2]uint64{s.hash(hashes), uint64(p.begin)}
			if !seen[key] {
				seen[key] = true
				different++
				jobs <- job{p, s}
			}
		})
	}
	close(jobs)
	wait.Wait()
	took := time.Since(began)
	t.Logf("seed %d: %d calls, %d moments, %d states, %d of them different, %d bad; %s, %.0f a second", seed, r.calls, len(r.points), all, different, len(bad),
		took.Round(time.Millisecond), float64(different)/took.Seconds())
	if len(bad) > 5 {
		bad = append(bad[:5], fmt.Sprintf("and %d others", len(bad)-5))
	}
	return bad
}
