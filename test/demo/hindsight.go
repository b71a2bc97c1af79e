package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// shipped is one of two sidecars: the JVM writes the same log for both.
type shipped struct {
	source, dest string
	side         *lab.Sidecar
}

// showHindsight lets a JVM log debug lines all the time. One sidecar persists all lines. The other withholds lines
// below info, and saves those around an incident.
func showHindsight(ctx context.Context, d *demo) error {
	window := time.Duration(d.seconds) * time.Second / 10
	all, err := d.ship("all")
	if err != nil {
		return err
	}
	defer all.side.Kill()
	held, err := d.ship("held", "--persist-level", "info", "--hindsight", window.String(), "--hindsight-on", "")
	if err != nil {
		return err
	}
	defer held.side.Kill()
	if err := d.incident(ctx, all, held, window); err != nil {
		return err
	}
	return d.compare(all, held)
}

// ship starts a sidecar with a source and a destination of its own.
func (d *demo) ship(name string, flags ...string) (*shipped, error) {
	s := &shipped{source: filepath.Join(d.tmpfs.dir, name), dest: filepath.Join(d.dest, name)}
	if err := errors.Join(os.Mkdir(s.source, 0o700), os.Mkdir(s.dest, 0o755)); err != nil {
		return nil, err
	}
	var err error
	s.side, err = d.sidecar(s.source, s.dest, flags...)
	return s, err
}

// incident runs the JVM and saves the withheld lines halfway through the run.
func (d *demo) incident(ctx context.Context, all, held *shipped, window time.Duration) error {
	var outputs []string
	for _, s := range []*shipped{all, held} {
		o := jvm.Output{Selection: selection, File: filepath.Join(s.source, stream), Options: "filecount=1,filesize=0"}
		outputs = append(outputs, o.Flag())
	}
	if err := d.churn(time.Duration(d.seconds)*time.Second, outputs...); err != nil {
		return err
	}
	d.say("The JVM runs (%s, pid %d) for %d s and logs %s, twice.\nOne sidecar persists all of it. The other has --persist-level info --hindsight %s.", d.jdk, d.jvm.PID(), d.seconds, selection, window)
	select {
	case <-ctx.Done():
		return errInterrupted
	case <-time.After(time.Duration(d.seconds) * time.Second / 2):
	}
	said, err := lab.Command(time.Minute, d.ullage, "levels", "save", "--source", held.source)
	if err != nil {
		return err
	}
	d.say("Something has gone wrong. ullage levels save: %s", strings.TrimSpace(said))
	select {
	case <-ctx.Done():
		return errInterrupted
	case <-d.jvm.Done():
	}
	return d.jvm.Wait(drain)
}

// account counts what the second sidecar did with the lines.
type account struct {
	jvm.Comparison     // of the lines at info and above
	written            int
	withheld, dropped  int // by the sidecar's own count
	saved              int // lines in the stream of saved lines
	strangers          int // saved lines that were not withheld
	everything, little int64
}

// compare waits until both sidecars have read everything, and looks for each line.
func (d *demo) compare(all, held *shipped) error {
	for end := time.Now().Add(drain); time.Now().Before(end); time.Sleep(commitEvery) {
		if backlog, err := held.side.Metric("ullage_backlog_bytes"); err == nil && backlog == 0 {
			break
		}
	}
	a := account{withheld: counted(held.side, "ullage_hindsight_withheld_lines_total"), dropped: counted(held.side, "ullage_dropped_lines_total")}
	for _, s := range []*shipped{all, held} {
		if err := s.side.Stop(drain); err != nil {
			return err
		}
	}
	text, detail := read(all.dest, stream), read(held.dest, stream+naming.DetailSuffix)
	info, debug := split(text)
	a.written, a.saved = bytes.Count(text, newline), bytes.Count(detail, newline)
	a.Comparison = jvm.Compare(info, read(held.dest, stream))
	for line := range bytes.Lines(detail) {
		if !debug[string(line)] {
			a.strangers++
		}
	}
	a.everything, a.little = stored(all.dest), stored(held.dest)
	a.print(d.out)
	return a.err()
}

func (a account) missing() int { return a.written - a.Persisted - a.withheld - a.dropped }

func (a account) err() error {
	if a.written == 0 || a.missing() != 0 || !a.Same() || a.saved == 0 || a.strangers > 0 {
		return fmt.Errorf("the account is wrong: %s; %d lines are not accounted for, %d saved ones were never withheld", a.Comparison, a.missing(), a.strangers)
	}
	return nil
}

func (a account) print(out io.Writer) {
	fmt.Fprintln(out)
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(what, number, more string) { fmt.Fprintf(t, "  %s\t%12s\t%s\n", what, number, more) }
	row("lines written by the JVM", count(a.written), "as the first sidecar persisted them")
	row("lines persisted", count(a.Persisted), "info and above: "+result{Comparison: a.Comparison}.order())
	row("lines withheld", count(a.withheld), "below info, and counted")
	row("of these saved", count(a.saved), "from around the command, in "+stream+naming.DetailSuffix)
	row("lines dropped", count(a.dropped), "discarded on purpose and counted")
	row("not accounted for", count(a.missing()), "neither persisted, withheld nor dropped")
	row("stored, everything", size(a.everything), "what the first sidecar wrote")
	row("stored with hindsight", size(a.little), fmt.Sprintf("%.1f times less", float64(a.everything)/float64(max(1, a.little))))
	t.Flush()
}

var newline = []byte("\n")

// read returns the persisted lines of a stream, or nothing.
func read(dest, stream string) []byte {
	var text bytes.Buffer
	_ = lab.ReadStream(&text, dest, stream) // lines that cannot be read fail the comparison
	return text.Bytes()
}

// split splits a log at level info.
func split(text []byte) (info []byte, debug map[string]bool) {
	var class ul.Classifier
	debug = map[string]bool{}
	for line := range bytes.Lines(text) {
		if class.Classify(bytes.TrimSuffix(line, newline)).Level.Below(ul.Info) {
			debug[string(line)] = true
		} else {
			info = append(info, line...)
		}
	}
	return info, debug
}

// stored adds up the sizes of all segments.
func stored(dest string) (sum int64) {
	for _, name := range []string{stream, stream + naming.DetailSuffix} {
		paths, _ := lab.Segments(dest, name) // a missing stream has no segments
		for _, path := range paths {
			if stat, err := os.Stat(path); err == nil {
				sum += stat.Size()
			}
		}
	}
	return sum
}
