package crash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

const stormThreads = 8

// A storm is a JVM whose threads log numbered events into a ring.
type storm struct {
	*jvm.Process
	counts string // the file of the counters
}

// stormClasses compiles Storm together with the library and returns the class path.
func stormClasses(t *testing.T, jdk lab.JDK) string {
	t.Helper()
	sources, err := filepath.Glob("../../java/log/src/main/java/dev/ullage/log/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatalf("found no sources of the library, want some, error: %v", err)
	}
	return jdk.Classes(t, append(sources, "testdata/Storm.java")...)
}

// startStorm starts a storm that logs to the destination in the setting.
func startStorm(t *testing.T, jdk lab.JDK, classes, setting string, rate, seconds int) *storm {
	t.Helper()
	s := &storm{counts: filepath.Join(t.TempDir(), "counts")}
	if err := os.WriteFile(s.counts, make([]byte, 64*stormThreads), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	s.Process, err = jvm.Start(jdk, "-Xmx64m", "-XX:+UseSerialGC", "-Dullage.events="+setting, "-cp", classes,
		"Storm", s.counts, strconv.Itoa(stormThreads), strconv.Itoa(rate), strconv.Itoa(seconds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// counter returns a function for a thread's counters: 0 counts the calls that began, 1 the calls that kept the
// event, and 2 the calls that refused it.
func (s *storm) counter(t *testing.T, id int) func(at int) uint64 {
	t.Helper()
	counts, err := os.ReadFile(s.counts)
	if err != nil {
		t.Fatal(err)
	}
	return func(at int) uint64 { return binary.LittleEndian.Uint64(counts[64*id+8*at:]) }
}

// settle compares the persisted lines of a storm with the results of its calls. A call that a kill has interrupted
// may or may not have kept its event.
func (s *storm) settle(t *testing.T, dest string) (events, refused uint64) {
	t.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, fmt.Sprintf("events-%d.log", s.PID())); err != nil {
		t.Fatal(err)
	}
	var lines, last [stormThreads]uint64
	var marked, begun, kept uint64
	for line := range strings.Lines(text.String()) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			marked += g.Total()
			continue
		}
		var id int
		var n uint64
		_, message, ok := strings.Cut(line, "][event] ")
		if _, err := fmt.Sscanf(message, "%d %d ", &id, &n); !ok || err != nil || id < 0 || id >= stormThreads {
			t.Fatalf("the line %q: error %v; want a thread from 0 to %d and the number of an event", line, err, stormThreads-1)
		}
		if n <= last[id] {
			t.Fatalf("thread %d: event %d follows event %d, want ascending numbers", id, n, last[id])
		}
		last[id] = n
		lines[id]++
	}
	for id := range stormThreads {
		of := s.counter(t, id)
		open := of(0) - of(1) - of(2)
		if lines[id] > of(1)+open || open > 1 || last[id] > of(0) {
			t.Errorf("thread %d: %d lines up to number %d, but %d events were kept and %d refused, of %d; want at most %d lines, 1 undecided event and numbers up to the total", id, lines[id], last[id], of(1), of(2), of(0), of(1)+open)
		}
		begun, kept, refused = begun+of(0), kept+of(1), refused+of(2)
		events += lines[id]
	}
	// The marker for events that the ring refuses looks like the marker for lines that a sidecar drops because it is
	// killed too often to keep up.
	if marked < refused || events+marked < kept+refused || events+marked > begun {
		t.Errorf("%d lines and %d events in markers, of %d; the ring kept %d and refused %d; want at least %d in markers, and %d to %d in total", events, marked, begun, kept, refused, refused, kept+refused, begun)
	}
	return events, refused
}

// ended waits until no file of a ring is left in the source.
func ended(t *testing.T, source string) {
	t.Helper()
	lab.Eventually(t, lab.Patience, "all events are durable", func() bool {
		left, err := filepath.Glob(filepath.Join(source, "events-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
}

// TestEventsOfKilledJVMsAndSidecars kills the JVM, or repeatedly the sidecar, or both. Every event whose call has
// returned is persisted as a line once, in the order of its thread, or is counted in a marker.
func TestEventsOfKilledJVMsAndSidecars(t *testing.T) {
	jdks := lab.NeedsJDKs(t)
	classes := stormClasses(t, jdks[0])
	for i, c := range []struct {
		name     string
		ring     string
		rate     int // events a second; 0: as many as the threads can log
		killJVM  bool
		killSide bool
	}{
		{"JVM", "2Mi", 300_000, true, false},
		{"sidecar", "4Mi", 300_000, false, true},
		{"both", "4Mi", 300_000, true, true},
		{"both in a flood", "256Ki", 0, true, true},
		{"both again", "4Mi", 300_000, true, true},
		{"both in another flood", "256Ki", 0, true, true},
	} {
		jdk := jdks[(i+i/4)%len(jdks)] // each of the last four runs on another JDK
		t.Run(c.name+" on "+jdk.String(), func(t *testing.T) {
			random := *seed
			if random == 0 {
				random = rand.Uint64()
			}
			t.Logf("seed %d", random)
			rng := rand.New(rand.NewPCG(random, 0))
			source, dest := lab.Tmpfs(t, "64m"), t.TempDir()
			side := lab.Run(t, source, dest, busy...)
			s := startStorm(t, jdk, classes, source+",size="+c.ring, c.rate, 3)
			lab.Eventually(t, lab.Patience, "the JVM logs", func() bool { return s.counter(t, 0)(1) > 0 })
			for end := time.Now().Add(2 * time.Second); c.killSide && time.Now().Before(end); {
				time.Sleep(anyMoment(rng, 0))
				side.Kill()
				side = lab.Run(t, source, dest, busy...)
			}
			switch {
			case !c.killJVM:
				if err := s.Wait(lab.Patience); err != nil {
					t.Fatal(err)
				}
			case c.killSide:
				s.Kill()
			default:
				time.Sleep(time.Second + time.Duration(rng.IntN(1000))*time.Millisecond)
				s.Kill()
			}
			ended(t, source)
			drain(t, side)
			events, refused := s.settle(t, dest)
			t.Logf("%d events, %d refused", events, refused)
			if events == 0 {
				t.Error("no event was persisted, want some")
			}
		})
	}
}

// TestRingsOfSeveralJVMsInAFreeze runs four JVMs with a ring each in a small tmpfs and freezes the destination until the
// sidecar drops lines. Then the test kills the JVMs. Every event is persisted once or counted: by its ring, which is
// full, or by the sidecar, which drops lines.
func TestRingsOfSeveralJVMsInAFreeze(t *testing.T) {
	const jvms, rate, seconds = 4, 40_000, 600
	jdks := lab.NeedsJDKs(t)
	classes := stormClasses(t, jdks[0])
	v := lab.MountVolume(t, "2G")
	source, dest := lab.Tmpfs(t, "12m"), filepath.Join(v.Dir, "dest")
	side := lab.Run(t, source, dest, busy...)
	if _, err := side.Addr(lab.Patience); err != nil {
		t.Fatal(err)
	}
	var storms []*storm
	for i := range jvms {
		storms = append(storms, startStorm(t, jdks[i%len(jdks)], classes, source+",size=1Mi", rate, seconds))
	}
	for _, s := range storms {
		lab.Eventually(t, lab.Patience, "the JVM logs", func() bool { return s.counter(t, 0)(1) > 0 })
	}
	thaw := v.Frozen(t)
	lab.Eventually(t, lab.Patience, "the sidecar drops lines", func() bool { return strings.Contains(side.Stderr(), `msg="dropping lines"`) })
	for _, s := range storms {
		s.Kill()
	}
	thaw()
	ended(t, source)
	drain(t, side)
	for _, s := range storms {
		events, refused := s.settle(t, dest)
		t.Logf("JVM %d: %d events, %d refused", s.PID(), events, refused)
	}
}
