package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// The selection of the demo's raise. It adds lines at level trace, which the JVM's own selection does not have.
const raisedTo = "gc*=trace,safepoint*=trace"

// raise records what happened when the level was raised.
type raise struct {
	asked    time.Time // when the annotations file was edited
	lasts    time.Duration
	shipped  time.Time // when the first line at trace was durable
	restored time.Time // when the sidecar reported that the JVM has its own level again

	lines       int       // at trace, persisted
	first, last time.Time // times of these lines, by the JVM's clock
}

// annotations is the file in which Kubernetes would show the sidecar the pod's
// annotations. Here we edit it ourselves.
func (d *demo) annotations() string { return filepath.Join(d.scratch, "annotations") }

// ask edits the annotations file and records when the raise takes effect.
func (d *demo) ask(ctx context.Context) error {
	d.raise.asked = time.Now()
	text := fmt.Sprintf("ullage.dev/log=%q\nullage.dev/log-for=%q\n", raisedTo, d.raise.lasts)
	if err := os.WriteFile(d.annotations(), []byte(text), 0o644); err != nil {
		return fmt.Errorf("edit the annotations: %w", err)
	}
	d.say("      The annotations file says: log=%q, log-for=%q.", raisedTo, d.raise.lasts.String())
	traced := func() bool { return d.metric(`ullage_persisted_lines_total{level="trace",stream="`+stream+`"}`) > 0 }
	d.raise.shipped = d.when(ctx, traced)
	if !d.raise.shipped.IsZero() {
		d.say("      The first line at trace is durable %s after that.", millis(d.raise.shipped.Sub(d.raise.asked)))
	}
	return nil
}

// awaitRestore records when the raise is over.
func (d *demo) awaitRestore(ctx context.Context) {
	d.raise.restored = d.when(ctx, func() bool { return d.metric("ullage_level_restores_total") > 0 })
	if !d.raise.restored.IsZero() {
		d.say("      The JVM has its own level again, by itself, %.1f s after the edit.", d.raise.restored.Sub(d.raise.asked).Seconds())
	}
}

// when returns the time at which a condition becomes true, or the zero time if it never does.
func (d *demo) when(ctx context.Context, true func() bool) time.Time {
	ctx, cancel := context.WithTimeout(ctx, d.raise.lasts+lab.Patience)
	defer cancel()
	for ctx.Err() == nil {
		if true() {
			return time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return time.Time{}
}

func (d *demo) metric(series string) float64 {
	value, err := d.side.Metric(series)
	if err != nil {
		return 0 // not there yet
	}
	return value
}

// without removes the lines that are due to the raise: the second output was not raised.
func (r *raise) without(persisted []byte) []byte {
	var class ul.Classifier
	var rest bytes.Buffer
	for line := range bytes.Lines(persisted) {
		c := class.Classify(bytes.TrimSuffix(line, []byte("\n")))
		if c.Level != ul.Trace {
			rest.Write(line)
			continue
		}
		r.lines++
		if at, ok := jvm.TimeOf(line); ok {
			if r.first.IsZero() {
				r.first = at
			}
			r.last = at
		}
	}
	return rest.Bytes()
}

// changes are the moments at which the JVM's level changed. The JVM may write a message of such a moment twice.
func (r raise) changes() []time.Time { return []time.Time{r.first, r.restored} }

func (r raise) print(row func(what, number, more string)) {
	row("lines by the raise", count(r.lines), "at trace, which the JVM's own selection does not have")
	if r.err() != nil {
		return
	}
	row("raise seen in the log after", millis(r.shipped.Sub(r.asked)), "from the edit of the annotations file to a durable line")
	row("level restored after", fmt.Sprintf("%.1f s", r.restored.Sub(r.asked).Seconds()),
		fmt.Sprintf("asked for %s; the last line at trace is of %.1f s", r.lasts, r.last.Sub(r.asked).Seconds()))
}

// err describes what is wrong. After the restore, the JVM must not log at trace any more.
func (r raise) err() error {
	switch {
	case r.shipped.IsZero() || r.lines == 0:
		return errors.New("the raise that the annotation asked for does not show in the log")
	case r.restored.IsZero():
		return errors.New("the level was not restored")
	case r.last.After(r.restored.Add(time.Second)):
		return errors.New("the JVM went on at the raised level after it was restored")
	}
	return nil
}
