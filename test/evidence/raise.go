package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

const (
	raises    = 100
	raiseWait = 10 * time.Second // until a raise is seen
)

// raised measures the time from an edit of the annotations file until the JVM writes its first line at the new level,
// according to the time in that line. On each JDK, a JVM is raised and restored many times.
func raised(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "raise", Title: fmt.Sprintf("From an edited annotation to the first line at the new level, %d raises", raises),
		Columns: []column{{"p50", "p50, ms"}, {"p90", "p90, ms"}, {"longest", "longest, ms"}},
	}
	dir, err := fresh(e.shm, "raise")
	if err != nil {
		return nil, err
	}
	classes, err := jvm.Compile(e.jdks[0], dir)
	if err != nil {
		return nil, err
	}
	for _, jdk := range e.jdks {
		late, err := raiseOften(e, jdk, classes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", jdk, err)
		}
		f := figures{"longest": slices.Max(late)}
		f.summarize(late)
		x.add(jdk.String(), f)
	}
	return x, nil
}

// raiseOften raises one JVM that collects dozens of times a second, so that there is always something to log, and
// returns the duration of each raise in ms.
func raiseOften(e *evidence, jdk lab.JDK, classes string) ([]float64, error) {
	notes := filepath.Join(e.shm, "annotations")
	c := e.sidecar("ullage, zstd", "zstd", "--annotations", notes, "--attach", "process-namespace")
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	out := jvm.Output{Selection: "gc*=info", File: p.log(), Options: "filecount=1,filesize=0"}
	java, err := jvm.Start(jdk, "-Xmx64m", "-Xmn4m", "-XX:+UseG1GC", out.Flag(), "-cp", classes, "Churn", "600000", "250")
	if err != nil {
		return nil, err
	}
	defer java.Kill()
	fmt.Printf("  %s is raised %d times\n", jdk, raises)
	var edits []time.Time
	for range raises {
		edit, err := raiseOnce(e, s, notes)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	java.Kill()
	if _, err := c.end(s, p, 0); err != nil {
		return nil, err
	}
	return firstTraces(p.dest, edits)
}

// raiseOnce requests a raise at a moment that is unrelated to the sidecar's timers. It ends the raise once the
// JVM is raised.
func raiseOnce(e *evidence, s *shipper, notes string) (edit time.Time, err error) {
	time.Sleep(rand.N(300 * time.Millisecond))
	edit = time.Now()
	if err := os.WriteFile(notes, []byte("ullage.dev/log=\"gc*=trace\"\n"), 0o644); err != nil {
		return edit, err
	}
	if err := untilRaised(e, s, 1); err != nil {
		return edit, err
	}
	time.Sleep(50 * time.Millisecond) // a few collections
	if err := os.WriteFile(notes, nil, 0o644); err != nil {
		return edit, err
	}
	return edit, untilRaised(e, s, 0)
}

// untilRaised waits until that many JVMs are raised.
func untilRaised(e *evidence, s *shipper, raised float64) error {
	for deadline := time.Now().Add(raiseWait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if e.ctx.Err() != nil {
			return e.ctx.Err()
		}
		if n, err := s.Metric("ullage_level_raised_jvms"); err == nil && n == raised {
			return nil
		}
	}
	return fmt.Errorf("after %s, the number of raised JVMs is not %.0f; ullage said:\n%s", raiseWait, raised, s.Stderr())
}

// firstTraces returns, for each edit, after how many milliseconds the first line at level trace was
// written.
func firstTraces(dest string, edits []time.Time) ([]float64, error) {
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, "gc.log"); err != nil {
		return nil, err
	}
	var traces []time.Time
	var class ul.Classifier
	for line := range bytes.Lines(text.Bytes()) {
		if c := class.Classify(bytes.TrimSuffix(line, []byte("\n"))); c.Kind != ul.Header || c.Level != ul.Trace {
			continue
		}
		stamp, _, _ := bytes.Cut(line[1:], []byte("]"))
		at, err := time.Parse("2006-01-02T15:04:05.000-0700", string(stamp))
		if err != nil {
			return nil, fmt.Errorf("read the time of a line: %w", err)
		}
		traces = append(traces, at)
	}
	var late []float64
	for _, edit := range edits {
		// The JVM's clock shows whole milliseconds, rounded down.
		i, _ := slices.BinarySearchFunc(traces, edit.Truncate(time.Millisecond), time.Time.Compare)
		if i == len(traces) {
			return nil, fmt.Errorf("no line at trace follows the edit of %s", edit)
		}
		late = append(late, float64(traces[i].Sub(edit).Microseconds())/1000)
	}
	return late, nil
}
