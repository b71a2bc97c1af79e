package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/ul"
)

// maxName is the width of a stream's name, chosen so that a row of the table fits into 100 columns. maxSegment is the
// width of a segment's name without its extension, 20261120T100000.000Z-000001.
const (
	maxName    = 20
	maxSegment = 27
)

// renderStatus prints st for people: a block of lines, then a table of streams. It escapes
// names and errors so that a terminal can show them.
func renderStatus(w io.Writer, st admin.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range headRows(st) {
		fmt.Fprintf(t, "%s:\t%s\n", row[0], printable.Line(row[1]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(st.Streams) == 0 {
		_, err := fmt.Fprintln(w, "\nno files in the source now")
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STREAM\tFILES\tPERSISTED\tLINES\tBACKLOG\tSEGMENT\tSIZE")
	for _, s := range st.Streams {
		segment, size := "-", "-"
		if s.Segment != "" {
			name, _, _ := strings.Cut(s.Segment, ".log")
			segment, size = clip(printable.Line(name), maxSegment), printable.Bytes(s.SegmentBytes)
		}
		if s.Refused != "" {
			segment, size = "refused", "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", clip(printable.Line(s.Name), maxName), s.Files,
			printable.Bytes(s.PersistedBytes), printable.Count(s.PersistedLines), printable.Bytes(s.BacklogBytes), segment, size)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if st.StreamsOmitted > 0 {
		_, err := fmt.Fprintf(w, "and %d more\n", st.StreamsOmitted)
		return err
	}
	return nil
}

// headRows returns the lines above the table, as key and value: first the problems and the backlog, last the
// settings.
func headRows(st admin.Status) [][2]string {
	state := "ready"
	if !st.Ready {
		state = "NOT READY: " + st.Reason
	}
	rows := append([][2]string{{"state", state}}, jvmRows(st)...)
	rows = append(rows, [][2]string{
		{"errors", destErrors(st)},
		{"lag", printable.Seconds(st.LagSeconds) + ", " + lastCommit(st)},
		{"backlog", backlog(st)},
		{"budget", share(st.BudgetUsedBytes, st.BudgetBytes) + " in use; the tmpfs has " + printable.Bytes(st.HeadroomBytes) + " free"},
	}...)
	rows = append(rows, lossRows(st)...)
	rows = append(rows, [2]string{"read", volume(st.Read)}, [2]string{"persisted", volume(st.Persisted)}, [2]string{"by level", statusLevels(st.ByLevel)})
	rows = append(rows, withheldRows(st, time.Now())...)
	rows = append(rows, copyRows(st)...)
	for _, s := range st.Sinks {
		rows = append(rows, sinkRows(s)...)
	}
	rows = append(rows, levelRows(st)...)
	rows = append(rows, ringRows(st)...)
	return append(rows, settingRows(st)...)
}

// settingRows returns the sidecar's settings and their effects.
func settingRows(st admin.Status) (rows [][2]string) {
	if len(st.Ignored) > 0 {
		var parts []string
		for _, reason := range slices.Sorted(maps.Keys(st.Ignored)) {
			parts = append(parts, fmt.Sprintf("%d %s", st.Ignored[reason], reason))
		}
		rows = append(rows, [2]string{"ignored", strings.Join(parts, ", ")})
	}
	rows = append(rows, formatRows(st)...)
	reclaim := st.Reclaim.Mode
	if st.Reclaim.Why != "" {
		reclaim += " (" + st.Reclaim.Why + ")"
	}
	return append(rows, [][2]string{
		{"queue", share(st.QueueUsedBytes, st.QueueCapacityBytes)},
		{"reclaim", reclaim},
		{"source", st.Source},
		{"destination", st.Destination},
		{"compress", st.Compress},
		{"version", st.Version + ", up " + printable.Seconds(st.UptimeSeconds)},
	}...)
}

// withheldRows returns the lines about withheld lines, if there are any.
func withheldRows(st admin.Status, now time.Time) (rows [][2]string) {
	if st.Withheld.Lines > 0 {
		rows = append(rows, [2]string{"withheld", volume(st.Withheld) + ", " + printable.Count(st.Saved) + " lines of them saved"})
	}
	if h := st.Hindsight; h != nil {
		text := printable.Bytes(h.Bytes)
		if h.Since.Unix() > 0 {
			text += " of the last " + printable.Seconds(now.Sub(h.Since).Seconds())
		}
		if h.Until.After(now) {
			text += ", saving for " + printable.Seconds(h.Until.Sub(now).Seconds())
		}
		rows = append(rows, [2]string{"hindsight", text})
	}
	return rows
}

// formatRows returns the number of streams of each format, unless all are UL.
func formatRows(st admin.Status) [][2]string {
	streams := map[string]int{}
	for _, s := range st.Streams {
		if s.Format != "" {
			streams[s.Format]++
		}
	}
	if _, jvm := streams["ul"]; len(streams) == 0 || len(streams) == 1 && jvm {
		return nil
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, streams[name]))
	}
	return [][2]string{{"formats", strings.Join(parts, ",") + " streams"}}
}

// ringRows returns the lines about events, if there are any.
func ringRows(st admin.Status) (rows [][2]string) {
	if st.Events > 0 || st.EventsDropped > 0 {
		rows = append(rows, [2]string{"events", printable.Count(st.Events) + " became lines, " + printable.Count(st.EventsDropped) + " refused by full rings"})
	}
	for _, r := range st.Rings {
		text := fmt.Sprintf("%s: %s", r.Name, share(r.UsedBytes, r.CapacityBytes))
		if r.Abandoned {
			text += ", abandoned"
		}
		if r.Ended {
			text += ", its JVM has ended"
		}
		rows = append(rows, [2]string{"ring", text})
		if r.Problem != "" {
			rows = append(rows, [2]string{"ring", r.Problem})
		}
	}
	return rows
}

// sinkRows returns the lines of a sink.
func sinkRows(s admin.Sink) [][2]string {
	took := printable.Count(s.Lines) + " lines"
	if s.Segments > 0 {
		took = printable.Count(s.Segments) + " segments"
	}
	key := "sink " + s.Name
	rows := [][2]string{{key, fmt.Sprintf("%s, %s acknowledged; lag %s, %s left", took,
		printable.Bytes(s.Bytes), printable.Seconds(s.LagSeconds), printable.Bytes(s.BacklogBytes))}}
	if s.RejectedBytes > 0 || s.SkippedSegments > 0 {
		rows = append(rows, [2]string{key, fmt.Sprintf("%s rejected (%s lines), %s segments deleted unsent", printable.Bytes(s.RejectedBytes), printable.Count(s.RejectedLines), printable.Count(s.SkippedSegments))})
	}
	if s.Note != "" {
		rows = append(rows, [2]string{key, s.Note})
	}
	if s.Failure != "" {
		rows = append(rows, [2]string{key, "fails: " + s.Failure})
	}
	return rows
}

// jvmRows returns the problems of the JVMs, if there are any.
func jvmRows(st admin.Status) (rows [][2]string) {
	if e := st.JVMEnd; e != nil {
		rows = append(rows, [2]string{"jvm end", ago(st, e.At) + ", " + e.Text()})
	}
	if st.JVMCrashes > 0 {
		rows = append(rows, [2]string{"jvm crashes", printable.Count(st.JVMCrashes) + " (ullage logs --stream 'hs_err*' prints their reports)"})
	}
	if st.Levels != nil {
		if other := st.Levels.OtherLogs; len(other) > 0 {
			rows = append(rows, [2]string{"other logs", strings.Join(other, ", ") + " (outside the source: the JVM waits for that disk)"})
		}
	}
	return rows
}

// lossRows returns the lines about losses. It also says so if ullage has dropped nothing.
func lossRows(st admin.Status) (rows [][2]string) {
	now := map[string]string{"discard": "; dropping lines below --keep-level now", "drop": "; dropping all lines now"}[st.Dropping]
	if st.Dropped.Lines == 0 && now == "" {
		rows = append(rows, [2]string{"dropped", "none"})
	} else {
		rows = append(rows, [2]string{"dropped", volume(st.Dropped) + now})
	}
	for _, reason := range slices.Sorted(maps.Keys(st.DroppedBy)) {
		rows = append(rows, [2]string{"dropped", reason + ": " + statusLevels(st.DroppedBy[reason])})
	}
	if st.JVMLost != (admin.JVMLost{}) {
		rows = append(rows, [2]string{"jvm lost", fmt.Sprintf("%s lines by -Xlog:async, %s cut by a full tmpfs", printable.Count(st.JVMLost.Async), printable.Count(st.JVMLost.Cut))})
	}
	return rows
}

// statusLevels formats lines by level, the most severe first: "warning=6,info=50".
func statusLevels(by map[string]int64) string {
	var parts []string
	for level := ul.NumLevels - 1; level >= 0; level-- {
		name := ul.Level(level).String()
		if n := by[name]; n > 0 {
			parts = append(parts, name+"="+printable.Count(n))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ",")
}

// copyRows returns the lines about the durable copy: how far back it reaches, and its losses.
func copyRows(st admin.Status) [][2]string {
	reaches := "nothing yet"
	if !st.Reaches.IsZero() {
		reaches = fmt.Sprintf("back to %s, %d segments", st.Reaches.Format(time.RFC3339), st.Segments)
	}
	rows := [][2]string{{"copy", reaches + ", " + printable.Bytes(st.FreeBytes) + " free"}}
	if st.DeletedSegments > 0 {
		rows = append(rows, [2]string{"copy", fmt.Sprintf("retention deleted %d segments", st.DeletedSegments)})
	}
	if st.CutBytes > 0 {
		rows = append(rows, [2]string{"copy", "recovery cut a damaged end of " + printable.Bytes(st.CutBytes)})
	}
	return rows
}

// backlog formats the size of the backlog. It shows no share of the budget, because lines in the spool are compressed
// and take less space than their size.
func backlog(st admin.Status) string {
	text := printable.Bytes(st.BacklogBytes)
	if st.SpooledBytes > 0 {
		text += " (" + printable.Bytes(st.SpooledBytes) + " of it in the spool, before compression)"
	}
	return text
}

func lastCommit(st admin.Status) string {
	if st.LastCommit.IsZero() {
		return "no commit yet"
	}
	return "last commit " + ago(st, st.LastCommit)
}

// ago uses the sidecar's own clock, which may differ from the local clock.
func ago(st admin.Status, t time.Time) string {
	return printable.Seconds(max(0, st.Now().Sub(t).Seconds())) + " ago"
}

func destErrors(st admin.Status) string {
	switch e := st.DestinationErrors; {
	case e.Count == 0:
		return "none"
	case e.Last == "":
		return fmt.Sprintf("none lately, %d since the start", e.Count)
	case e.LastAt.IsZero(): // the status is from an older sidecar
		return fmt.Sprintf("%d at the destination, last: %s", e.Count, e.Last)
	default:
		return fmt.Sprintf("%d at the destination, last %s: %s", e.Count, ago(st, e.LastAt), e.Last)
	}
}

func volume(v admin.Volume) string {
	return printable.Count(v.Lines) + " lines, " + printable.Bytes(v.Bytes)
}

// share formats a part of a whole: "1.50 MiB of 64 MiB (2 %)".
func share(part, whole int64) string {
	text := printable.Bytes(part)
	if whole > 0 {
		text += fmt.Sprintf(" of %s (%.0f %%)", printable.Bytes(whole), 100*float64(part)/float64(whole))
	}
	return text
}

// clip shortens s to n runes. It cuts the middle, because the ends of the names
// of streams differ most.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}
