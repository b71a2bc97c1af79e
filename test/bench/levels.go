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
	raiseWait = 10 * time.Second // for one to be seen
)

// levels measures how long after an edit of the annotations file the JVM
// writes its first line at the new level, by the time that the line itself
// has. Each JDK is raised and restored many times.
func (b *bench) levels() error {
	jdks, err := lab.JDKs()
	if err != nil {
		return err
	}
	dir := b.path("levels")
	if err := empty(dir); err != nil {
		return err
	}
	classes, err := jvm.Compile(jdks[0], dir)
	if err != nil {
		return err
	}
	for _, jdk := range jdks {
		if err := b.raiseOften(jdk, classes); err != nil {
			return fmt.Errorf("%s: %w", jdk, err)
		}
	}
	return nil
}

// raiseOften raises one JVM that collects dozens of times a second, so that
// there is always something to log.
func (b *bench) raiseOften(jdk lab.JDK, classes string) error {
	source, dest, notes := b.path("source"), filepath.Join(b.dest, "levels"), b.path("annotations")
	if err := empty(source); err != nil {
		return err
	}
	if err := empty(dest); err != nil {
		return err
	}
	s, err := b.start(source, dest, "--listen", "127.0.0.1:0", "--annotations", notes, "--attach", "process-namespace")
	if err != nil {
		return err
	}
	defer s.Kill()
	out := jvm.Output{Selection: "gc*=info", File: filepath.Join(source, "gc.log"), Options: "filecount=1,filesize=0"}
	java, err := jvm.Start(jdk, "-Xmx64m", "-Xmn4m", "-XX:+UseG1GC", out.Flag(), "-cp", classes, "Churn", "600000", "250")
	if err != nil {
		return err
	}
	defer java.Kill()
	fmt.Printf("  %s is raised %d times\n", jdk, raises)
	var edits []time.Time
	for range raises {
		edit, err := b.raiseOnce(s, notes)
		if err != nil {
			return err
		}
		edits = append(edits, edit)
	}
	java.Kill()
	if err := s.stop(); err != nil {
		return err
	}
	late, err := firstTraces(dest, edits)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("%s: ms from an edited annotation to a line at its level, p50 / p99 of %d", jdk, raises),
		fmt.Sprintf("%.0f / %.0f", percentile(late, .5), percentile(late, .99)), "p99 1,000", percentile(late, .99) <= 1000)
	return nil
}

// raiseOnce asks for a raise at a moment that has nothing to do with the
// sidecar's clock, and takes it back once it is seen.
func (b *bench) raiseOnce(s *sidecar, notes string) (edit time.Time, err error) {
	time.Sleep(rand.N(300 * time.Millisecond))
	edit = time.Now()
	if err := os.WriteFile(notes, []byte("ullage.dev/log=\"gc*=trace\"\n"), 0o644); err != nil {
		return edit, err
	}
	if err := b.until(s, 1); err != nil {
		return edit, err
	}
	time.Sleep(50 * time.Millisecond) // a few collections
	if err := os.WriteFile(notes, nil, 0o644); err != nil {
		return edit, err
	}
	return edit, b.until(s, 0)
}

// until waits until so many JVMs are raised.
func (b *bench) until(s *sidecar, raised float64) error {
	for deadline := time.Now().Add(raiseWait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		if n, err := s.Metric("ullage_level_raised"); err == nil && n == raised {
			return nil
		}
	}
	return fmt.Errorf("after %s there are not %.0f JVMs raised; ullage said:\n%s", raiseWait, raised, s.Stderr())
}

// firstTraces returns how many milliseconds after each edit the first line at
// trace was written.
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
		// The JVM's clock shows whole milliseconds, cut off.
		i, _ := slices.BinarySearchFunc(traces, edit.Truncate(time.Millisecond), time.Time.Compare)
		if i == len(traces) {
			return nil, fmt.Errorf("no line at trace follows the edit of %s", edit)
		}
		late = append(late, float64(traces[i].Sub(edit).Microseconds())/1000)
	}
	return late, nil
}
