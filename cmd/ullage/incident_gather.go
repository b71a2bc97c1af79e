package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/cat"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/read/incident"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/segment/owner"
	"github.com/ullage/ullage/internal/ship/ring"
)

const (
	// dumpPatience is how long a JVM may take for a dump.
	dumpPatience = time.Minute

	// savePatience is how long held lines may take to become durable, and savePoll how often the sidecar is asked.
	savePatience = 10 * time.Second
	savePoll     = 100 * time.Millisecond

	maxReason = 500 // bytes that are kept of the errors from the reader of lines
)

// gathering collects the parts of an archive.
type gathering struct {
	incidentConfig
	archive      *incident.Archive
	dir          string   // the destination
	names        []string // of its streams
	since, until time.Time

	owner  owner.Destination
	status *admin.Status // of the sidecar; nil: no sidecar answers
	silent string        // why no sidecar answers
	found  []string      // streams that have lines in the window
}

func (g *gathering) kernelBefore(context.Context) error {
	return g.archive.Add("kernel-before.txt", "the kernel's counters before all this was collected", func(w io.Writer) error { return insight.Counters(w, g.dir) })
}

func (g *gathering) kernelAfter(context.Context) error {
	return g.archive.Add("kernel-after.txt", "the kernel's counters afterwards", func(w io.Writer) error { return insight.Counters(w, g.dir) })
}

// ask asks the sidecar that persists into the destination.
func (g *gathering) ask(ctx context.Context) error {
	g.silent = "no sidecar runs for the destination"
	dest, _, ok := owner.Of(g.dir)
	if !ok {
		return nil
	}
	g.owner = dest
	st, asked, err := dest.Status(ctx)
	if err != nil {
		g.silent = err.Error()
	}
	if asked {
		g.status = &st
	}
	return nil
}

// jvms adds what the JVMs show about themselves.
func (g *gathering) jvms(ctx context.Context) error {
	wants := g.threads || g.histogram
	if g.status == nil {
		if wants {
			g.archive.Lack("--threads, --histogram: no JVM was asked: %s", g.silent)
		}
		return nil
	}
	cfg := g.attach
	cfg.Timeout = dumpPatience
	client := attach.New(cfg, g.status.Source)
	found := client.Survey(ctx)
	if wants && len(found.JVMs) == 0 {
		g.archive.Lack("--threads, --histogram: no JVM was found: %v", errors.Join(found.Problems...))
	}
	var err error
	for i, j := range found.JVMs {
		add := func(kind string, cmd attach.Command, about string, show func(string) string) {
			if err == nil {
				err = g.dump(ctx, client, j, cmd, fmt.Sprintf("%s-%d.txt", kind, i+1), about+j.String(), show)
			}
		}
		add("flags", attach.Flags(), "the flags that differ from HotSpot's defaults, except commands on errors, of ", func(text string) string {
			return strings.ReplaceAll(mark.Flags(text), " ", "\n") + "\n"
		})
		whole := func(text string) string { return text }
		if g.threads {
			add("threads", attach.Threads(), "the stacks of all threads, for which the JVM stopped, of ", whole)
		}
		if g.histogram {
			add("histogram", attach.Histogram(), "the objects of each class, for which the JVM stopped, of ", whole)
		}
	}
	return err
}

// dump adds the answer of one JVM to a command, and how long it took.
func (g *gathering) dump(ctx context.Context, c *attach.Client, j attach.JVM, cmd attach.Command, name, about string, show func(string) string) error {
	began := time.Now()
	text, err := c.Run(ctx, j, cmd)
	about += fmt.Sprintf(", at %s; it answered within %s", began.UTC().Format("15:04:05.000Z"), time.Since(began).Round(time.Millisecond))
	return g.archive.Add(name, about, func(w io.Writer) error {
		_, _ = io.WriteString(w, show(text)) // the archive keeps the error
		return err
	})
}

// save makes the sidecar save the lines that it holds in hindsight, if they may be in the window, and waits until they
// are durable.
func (g *gathering) save(ctx context.Context) error {
	if g.status == nil || g.status.Hindsight == nil || g.status.Hindsight.Bytes == 0 || !g.status.Hindsight.Since.Before(g.until) {
		return nil
	}
	if _, err := g.owner.Lacks(ctx, nil, g.until); err != nil { // waits until the sidecar has read the lines of the window
		return err
	}
	asked := time.Now()
	_, err := control.NewCommand(outputs.Config{Attach: g.attach, Source: g.status.Source}).Save(ctx)
	taken := time.Time{} // when the status first showed that every line held at asked had been appended; zero: not yet
	for err == nil {
		var st admin.Status
		if st, _, err = g.owner.Status(ctx); err != nil {
			break
		}
		h := st.Hindsight
		if h == nil || h.Bytes == 0 || !taken.IsZero() && st.LastCommit.After(taken) {
			return nil
		}
		if taken.IsZero() && h.Since.After(asked) {
			taken = time.Now()
		}
		if time.Since(asked) > savePatience {
			err = fmt.Errorf("some are not durable after %s", savePatience)
			break
		}
		err = retry.Sleep(ctx, savePoll)
	}
	g.archive.Lack("the lines that the sidecar holds in hindsight: %v", err)
	return nil
}

// check adds the files that say whether the durable copy is complete.
func (g *gathering) check(ctx context.Context) error {
	cfg := check.Config{Since: g.since, Until: g.until, Formats: g.formats}
	if names, err := cfg.Names(g.dir); err == nil { // the saved lines may be in a new stream
		g.names = names
	}
	run := func(w io.Writer, asJSON bool, note func(check.Receiver) check.Receiver) error {
		p := newCheckPrinter(w, g.names, asJSON)
		total, err := check.Streams(ctx, g.dir, g.names, cfg, note(p))
		if total.Empty && !asJSON {
			g.archive.Lack("the durable copy has no line of that time")
		}
		return errors.Join(err, p.total(total))
	}
	return errors.Join(
		g.archive.Add(incident.CheckText, "whether the durable copy is complete, as 'ullage check' prints it", func(w io.Writer) error {
			return run(w, false, func(p check.Receiver) check.Receiver { return noting{p, g} })
		}),
		g.archive.Add("check.json", "the same as JSON, one object a line", func(w io.Writer) error {
			return run(w, true, func(p check.Receiver) check.Receiver { return p })
		}))
}

// noting notes which streams have lines, and what is missing.
type noting struct {
	check.Receiver
	g *gathering
}

// Lack implements [check.Receiver].
func (n noting) Lack(l owner.Lack) error {
	n.g.archive.Lack("%s", l)
	return n.Receiver.Lack(l)
}

// Stream implements [check.Receiver].
func (n noting) Stream(s check.Stream) error {
	if s.Lines > 0 || s.Gaps > 0 {
		n.g.found = append(n.g.found, s.Stream)
	}
	if !s.Complete() {
		for _, text := range findings(s) {
			n.g.archive.Lack("%s: %s", s.Stream, text)
		}
	}
	return n.Receiver.Stream(s)
}

// report adds the report of the window.
func (g *gathering) report(ctx context.Context) error {
	r, err := report.Read(ctx, []string{g.dir}, report.Config{Since: g.since, Until: g.until})
	if err == nil {
		return g.archive.Report(r)
	}
	return g.archive.Add(incident.ReportText, "where the JVM's time went", func(w io.Writer) error {
		_, _ = fmt.Fprintf(w, "There is no report: %s\n", printable.Line(err.Error())) // the archive keeps the error
		if errors.Is(err, report.ErrNoLog) || errors.Is(err, report.ErrNoDate) {
			return nil
		}
		return err
	})
}

// marks adds the events and gaps of the window.
func (g *gathering) marks(ctx context.Context) error {
	return g.archive.Add(incident.MarksText, "events and gaps, as 'ullage logs --marks' prints them", func(w io.Writer) error {
		p := cat.New(cat.Config{Since: g.since, Until: g.until, Formats: g.formats, Marks: true}, w, w)
		return errors.Join(append(p.Find([]string{g.dir}), p.Run(ctx))...)
	})
}

// sidecar adds the status of the sidecar, its last events and the levels of the JVMs.
func (g *gathering) sidecar(ctx context.Context) error {
	if g.status == nil {
		return g.archive.Add("status.txt", "the sidecar", func(w io.Writer) error {
			_, err := fmt.Fprintln(w, printable.Line(g.silent))
			return err
		})
	}
	err := g.archive.Add("status.txt", "the state of the sidecar, as 'ullage status' prints it", func(w io.Writer) error { return renderStatus(w, *g.status) })
	return errors.Join(err,
		g.archive.Add("status.json", "the same as JSON", func(w io.Writer) error {
			text, err := json.MarshalIndent(g.status, "", "  ")
			return errors.Join(err, printJSON(w, text))
		}),
		g.archive.Add("recent.json", "the last stops of the JVMs with what they waited for, and the last gaps", func(w io.Writer) error {
			text, err := g.owner.Recent(ctx)
			return errors.Join(err, printJSON(w, text))
		}),
		g.archive.Add("levels.txt", "what the JVMs log, as 'ullage levels' prints it", func(w io.Writer) error {
			listed, err := control.NewCommand(outputs.Config{Attach: g.attach, Source: g.status.Source}).List(ctx)
			var none *outputs.NoJVMError
			if errors.As(err, &none) {
				_, err = fmt.Fprintln(w, printable.Line(none.Error()))
			} else if len(listed) > 0 {
				err = errors.Join(err, printList(w, listed))
			}
			rings, ringErr := ring.Survey(g.status.Source)
			return errors.Join(err, ringErr, printRings(w, rings, true))
		}))
}

// printJSON prints JSON that is safe to show on a terminal.
func printJSON(w io.Writer, text []byte) error {
	_, err := fmt.Fprintln(w, printable.JSON(strings.TrimSpace(string(text))))
	return err
}

// lines adds the lines of the streams.
func (g *gathering) lines(ctx context.Context) error {
	var streams []incident.Stream
	for _, name := range g.found {
		path := g.dir // the destination may be the directory of one stream
		if g.names[0] != "." {
			path = filepath.Join(g.dir, name)
		}
		streams = append(streams, incident.Stream{Name: name, Print: func(w io.Writer) error {
			var said bytes.Buffer
			p := cat.New(cat.Config{Since: g.since, Until: g.until, Formats: g.formats}, w, &said)
			err := errors.Join(append(p.Find([]string{path}), p.Run(ctx))...)
			if err == nil && p.Failed() {
				err = errors.New(said.String()[:min(said.Len(), maxReason)])
			}
			return err
		}})
	}
	return g.archive.Lines(streams)
}
