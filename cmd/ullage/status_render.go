package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/cli"
)

// maxName is the width of a stream's name, chosen so that a row of the table
// stays within 100 columns; maxSegment is that of a segment's name without its
// extension, 20261120T100000.000Z-000001.
const (
	maxName    = 20
	maxSegment = 27
)

// renderStatus prints st for people: a block of lines, then a table of streams.
// What it prints of names and errors is escaped for a terminal.
func renderStatus(w io.Writer, st admin.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range headRows(st) {
		fmt.Fprintf(t, "%s:\t%s\n", row[0], cli.Line(row[1]))
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
			segment, size = clip(cli.Line(name), maxSegment), bytesText(s.SegmentBytes)
		}
		if s.Refused != "" {
			segment, size = "refused", "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", clip(cli.Line(s.Name), maxName), s.Files,
			bytesText(s.PersistedBytes), countText(s.PersistedLines), bytesText(s.BacklogBytes), segment, size)
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

// headRows are the lines above the table, as key and value.
func headRows(st admin.Status) [][2]string {
	state := "ready"
	if !st.Ready {
		state = "NOT READY: " + st.Reason
	}
	reclaim := st.Reclaim.Mode
	if st.Reclaim.Why != "" {
		reclaim += " (" + st.Reclaim.Why + ")"
	}
	rows := [][2]string{
		{"state", state},
		{"version", st.Version + ", up " + seconds(st.UptimeSeconds)},
		{"source", st.Source},
		{"destination", st.Destination},
		{"compress", st.Compress},
		{"reclaim", reclaim},
		{"backlog", share(st.BacklogBytes, st.BudgetBytes)},
		{"headroom", bytesText(st.HeadroomBytes)},
		{"queue", share(st.QueueUsedBytes, st.QueueCapacityBytes)},
		{"lag", seconds(st.LagSeconds) + ", " + lastCommit(st)},
		{"read", volume(st.Read)},
		{"persisted", volume(st.Persisted)},
		{"errors", destErrors(st)},
	}
	rows = append(rows, lossRows(st)...)
	if st.Levels != nil {
		rows = append(rows, levelRows(*st.Levels)...)
	}
	if len(st.Ignored) > 0 {
		var parts []string
		for _, reason := range slices.Sorted(maps.Keys(st.Ignored)) {
			parts = append(parts, fmt.Sprintf("%d %s", st.Ignored[reason], reason))
		}
		rows = append(rows, [2]string{"ignored", strings.Join(parts, ", ")})
	}
	return rows
}

// lossRows tell of lines that are not in the durable copy, if there are any.
func lossRows(st admin.Status) (rows [][2]string) {
	now := map[string]string{"discard": "; dropping lines below --keep-level now", "drop": "; dropping all lines now"}[st.Dropping]
	if st.Dropped.Lines > 0 || now != "" {
		rows = append(rows, [2]string{"dropped", volume(st.Dropped) + now})
	}
	if st.JVMLost != (admin.JVMLost{}) {
		rows = append(rows, [2]string{"jvm lost", fmt.Sprintf("%s lines by -Xlog:async, %s cut by a full tmpfs", countText(st.JVMLost.Async), countText(st.JVMLost.Cut))})
	}
	return rows
}

func lastCommit(st admin.Status) string {
	if st.LastCommit.IsZero() {
		return "no commit yet"
	}
	return "last commit " + ago(st, st.LastCommit)
}

// ago reckons by the sidecar's own clock, which is not ours.
func ago(st admin.Status, t time.Time) string {
	now := st.Started.Add(time.Duration(st.UptimeSeconds * float64(time.Second)))
	return seconds(max(0, now.Sub(t).Seconds())) + " ago"
}

func destErrors(st admin.Status) string {
	switch e := st.DestinationErrors; {
	case e.Count == 0:
		return "none"
	case e.Last == "":
		return fmt.Sprintf("none lately, %d since the start", e.Count)
	case e.LastAt.IsZero(): // of an older sidecar
		return fmt.Sprintf("%d at the destination, last: %s", e.Count, e.Last)
	default:
		return fmt.Sprintf("%d at the destination, last %s: %s", e.Count, ago(st, e.LastAt), e.Last)
	}
}

func volume(v admin.Volume) string { return countText(v.Lines) + " lines, " + bytesText(v.Bytes) }

// share renders a part of a whole: "1.50 MiB of 64 MiB (2 %)".
func share(part, whole int64) string {
	text := bytesText(part)
	if whole > 0 {
		text += fmt.Sprintf(" of %s (%.0f %%)", bytesText(whole), 100*float64(part)/float64(whole))
	}
	return text
}

// seconds renders a duration with a precision that a person reads.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// bytesText renders a size in at most 8 columns: "17 B", "1.20 MiB", "1023 KiB".
func bytesText(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n)/1024, 0
	for ; v >= 1023.5 && unit < 4; unit++ {
		v /= 1024
	}
	return threeDigits(v) + " " + "KMGTP"[unit:unit+1] + "iB"
}

// countText renders a number in at most 9 columns: exact below a thousand
// million, and "1.20G" from there.
func countText(n int64) string {
	if n < 1e9 {
		return strconv.FormatInt(n, 10)
	}
	v, unit := float64(n)/1e9, 0
	for ; v >= 999.5 && unit < 3; unit++ {
		v /= 1000
	}
	return threeDigits(v) + "GTPE"[unit:unit+1]
}

func threeDigits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// clip shortens s to n runes; the end of a name tells more streams apart than
// its beginning, so the middle goes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}
