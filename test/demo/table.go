package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/test/jvm"
)

// result is the outcome of the demo.
type result struct {
	jvm.Comparison
	raise   raise
	pauses  pauses
	dropped int   // lines that were discarded, by the sidecars' own count
	bytes   int64 // persisted, before compression
	onDisk  int64
	tmpfs   tmpfs
	copies  []copied
}

// lost returns the number of missing lines that were not counted as dropped.
func (r result) lost() int { return max(0, r.Missing-r.dropped) }

// err describes what is wrong.
func (r result) err() error {
	switch {
	case r.Written == 0:
		return fmt.Errorf("the JVM wrote nothing")
	case r.Missing != r.dropped || r.Twice+r.Foreign+r.Moved > 0:
		return fmt.Errorf("what was persisted, and what was dropped, is not what the JVM wrote: %s", r.Comparison)
	}
	for _, c := range r.copies {
		if err := c.err(); err != nil {
			return err
		}
	}
	return r.raise.err()
}

func (r result) print(out io.Writer) {
	fmt.Fprintln(out)
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(what, number, more string) { fmt.Fprintf(t, "  %s\t%12s\t%s\n", what, number, more) }
	row("lines written by the JVM", count(r.Written), "in its second output, which ullage never sees")
	row("lines persisted", count(r.Persisted), r.order())
	row("lines dropped", count(r.dropped), "discarded on purpose and counted")
	row("lines lost", count(r.lost()), "neither persisted nor dropped")
	row("lines twice", count(r.Twice), "persisted once more than written")
	row("written twice by the JVM", count(r.Repeated), "when its level changed; persisted as written")
	if r.Foreign+r.Moved > 0 {
		row("lines never written", count(r.Foreign), "but persisted")
		row("lines out of order", count(r.Moved), "among those of their thread")
	}
	for _, c := range r.copies {
		row("lines in the "+c.what, count(c.lines), c.String())
	}
	r.raise.print(row)
	row("largest use of the tmpfs", size(r.tmpfs.largest.Load()), r.tmpfs.what)
	row("persisted, uncompressed", size(r.bytes), fmt.Sprintf("%d bytes a line", r.bytes/int64(max(1, r.Persisted))))
	row("bytes on disk", size(r.onDisk), fmt.Sprintf("compressed %.1f : 1", float64(r.bytes)/float64(max(1, r.onDisk))))
	row("collection pauses seen", count(r.pauses.collections), "the longest took "+millis(r.pauses.longestCollection))
	row("safepoints seen", count(r.pauses.safepoints), "the longest took "+millis(r.pauses.longestSafepoint))
	t.Flush()
}

// order describes how certain it is that the order is the JVM's.
func (r result) order() string {
	switch {
	case r.Identical:
		return "byte for byte the same"
	case r.Same() && r.Repeated > 0:
		return "the same lines, apart from repeats by the JVM itself"
	case r.Same():
		// Lines that threads log at the same moment may be in another order in the JVM's second output.
		return "the same lines, those of each thread in the same order"
	}
	return "NOT THE SAME"
}

// count renders a number with commas: 1,234,567.
func count(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// size renders a number of bytes in ten columns.
func size(n int64) string {
	return fmt.Sprintf("%10s", printable.Bytes(n))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
