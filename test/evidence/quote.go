package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Other documents quote the record between two marks. The first mark names the quote. Nothing else is between the
// marks, so a quote changes only with the record.
const (
	quoteBegin = "<!-- evidence: "
	quoteEnd   = "<!-- end of evidence -->"
)

// quotes has the functions that return the texts for other documents.
var quotes = map[string]func(*record) string{
	"standstill": (*record).quoteStandstill,
	"price":      (*record).quotePrice,
	"costs":      (*record).quoteCosts,
	"peers":      (*record).quotePeers,
	"run":        (*record).quoteRun,
	"report":     func(r *record) string { return r.quoteTable("report", "the log") },
	"hindsight":  func(r *record) string { return r.quoteTable("hindsight", "") },
}

// quoteIn renews the quotes in a document.
func (r *record) quoteIn(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	renewed, err := r.renew(string(text))
	if err != nil {
		return fmt.Errorf("renew the tables of %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(renewed), 0o644)
}

// renew returns a document with its quotes renewed.
func (r *record) renew(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, quoteBegin)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		_, after, ended := strings.Cut(rest, quoteEnd)
		quote := quotes[name]
		if quote == nil || !ended {
			return "", fmt.Errorf("the mark of %q is unknown, or has no end", name)
		}
		fmt.Fprintf(&out, "%s%s -->\n%s%s", quoteBegin, name, quote(r), quoteEnd)
		text = after
	}
}

// quoteTable returns the table of one experiment.
func (r *record) quoteTable(name, head string) string {
	var s strings.Builder
	for _, x := range r.Experiments {
		if x.Name == name {
			x.table(&s)
		}
	}
	return strings.Replace(s.String(), "|", "| "+head, 1)
}

// quoteStandstill compares how long an application was stopped while the disk of its log was
// frozen, and below the table, while it was saturated.
func (r *record) quoteStandstill() string {
	var jdks []string
	for _, group := range r.groups("stopped") {
		if jdk, ok := strings.CutSuffix(group, ", "+linkedIn.arg); ok {
			jdks = append(jdks, jdk)
		}
	}
	names := strings.ReplaceAll(strings.Join(jdks, " / "), "/ JDK ", "/ ")
	var s strings.Builder
	fmt.Fprintf(&s, "| `-Xlog` writes to | longest stall of the application, %s | GC pauses in the durable log | lines the JVM dropped |\n|---|---|---|---|\n", names)
	for _, l := range loggings {
		each := func(key string, show func(float64) string) string {
			var all []string
			for _, jdk := range jdks {
				v, ok := r.median("stopped", jdk+", "+linkedIn.arg+": "+l.name, key)
				if all = append(all, "–"); ok {
					all[len(all)-1] = show(v)
				}
			}
			if same := slices.Compact(slices.Clone(all)); len(same) == 1 {
				return same[0]
			}
			return strings.Join(all, " / ")
		}
		name, strong := quotedLoggings[l.name], ""
		if l.name == shippedLogging {
			strong = "**"
		}
		fmt.Fprintf(&s, "| %[2]s%[1]s%[2]s | %[2]s%[3]s%[2]s | %[2]s%[4]s%[2]s | %[2]s%[5]s%[2]s |\n", name, strong, each("longest", standstill),
			each("durable", func(v float64) string { return fmt.Sprintf("%.0f %%", v) }), each("dropped", figure))
	}
	s.WriteString(saturatedInWords(r))
	return s.String()
}

// saturatedInWords compares how long an application was stopped while other processes wrote more to the disk of its
// log than the disk can take. The text is empty if the record lacks that experiment.
func saturatedInWords(r *record) string {
	for _, group := range r.groups("saturated") {
		if !strings.HasSuffix(group, ", "+mechanisms[0].name) {
			continue
		}
		longest := func(logging string) string { return r.row("saturated", group+": "+logging).cell("longest") }
		return fmt.Sprintf("\nOn a disk that others saturate, the longest stall was %s ms with the log on it, %s ms with `ullage`, and %s ms without a log.\n",
			longest("log on the disk"), longest(shippedLogging), longest("logging off"))
	}
	return ""
}

// quotedLoggings has the names of the ways to log in a summary.
var quotedLoggings = map[string]string{
	"logging off":                  "nothing (logging off)",
	"log on the disk":              "disk",
	"log on the disk, async":       "disk, `-Xlog:async`",
	"log on the disk, async:stall": "disk, `-Xlog:async:stall` (JDK 25)",
	"log on tmpfs, no sidecar":     "tmpfs alone, gone with its pod",
	shippedLogging:                 "tmpfs + ullage",
}

// standstill renders a duration in milliseconds.
func standstill(ms float64) string {
	if ms >= 1000 {
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// quotePrice returns the cost of the sidecar in a pod, in one sentence.
func (r *record) quotePrice() string {
	v := func(experiment, key string) string {
		if v, ok := r.median(experiment, "ullage, zstd", key); ok {
			return fmt.Sprintf("%.2g", v)
		}
		return "–"
	}
	return fmt.Sprintf("Cost per pod: a tmpfs of 64 MiB by default; the sidecar takes %s MiB and %s %% of a core when idle, %s MiB and %s %% of a core at 20,000 lines/s.\n",
		v("idle", "rss"), v("idle", "cpu"), v("steady", "rss"), v("steady", "cpu"))
}

// quotePeers returns a table with a row for each shipper and the most important figures, and what a line costs its
// writer.
func (r *record) quotePeers() string {
	var s strings.Builder
	s.WriteString("| | CPU at 20,000 lines/s, % of a core | memory, MiB | lines lost while the disk is frozen for 30 s, % | in a rotation storm, % | by five `kill -9`: lost / duplicated |\n|---|---|---|---|---|---|\n")
	for _, x := range r.Experiments {
		if x.Name != "steady" {
			continue
		}
		for _, row := range x.Rows {
			if row.Contestant == unshipped {
				continue
			}
			v := func(experiment, key string) string {
				if v, ok := r.median(experiment, row.Contestant, key); ok {
					return figure(v)
				}
				return "–"
			}
			name, plain, ours := strings.TrimSuffix(row.Contestant, ", none"), "", strings.HasPrefix(row.Contestant, "ullage, ")
			if ours {
				plain = " (zstd)"
				if name != row.Contestant {
					plain = " (uncompressed)"
				}
				name = "`ullage`"
			}
			fmt.Fprintf(&s, "| %s%s | %s | %s | %s | %s | %s / %s |\n", name, plain, v("steady", "cpu"), v("steady", "rss"), v("frozen", "share"), v("storm", "share"), v("kills", "lost"), v("kills", "twice"))
		}
	}
	beside, ok1 := r.median("steady", packed, "writer")
	alone, ok2 := r.median("steady", unshipped, "writer")
	if ok1 && ok2 {
		fmt.Fprintf(&s, "\nA line costs its writer %s µs of CPU time next to `ullage`, and %s µs without a shipper.\n", figure(beside), figure(alone))
	}
	return s.String()
}

// quoteRun describes when and where the record was made, and how far its figures can be trusted.
func (r *record) quoteRun() string {
	date, _, _ := strings.Cut(r.Date, "T")
	busy := ""
	if wasBusy(&r.sitting) {
		busy = fmt.Sprintf(" The machine was busy (load average %s before the run): read multiples, not absolute times.", figure(r.Load))
	}
	rounds := 0
	for _, x := range r.Experiments {
		rounds = max(rounds, x.rounds())
	}
	once := fmt.Sprintf("The figures are medians of %d rounds.", rounds)
	if rounds <= 1 {
		once = "Every experiment ran once."
	}
	once += earlierParts(r.Experiments, date)
	return fmt.Sprintf("The run is of %s, on %s, %d cores, Linux %s. %s%s\n", date, r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel, once, busy)
}

// earlierParts describes how many experiments ran on other days than the last run. The text is empty if all ran on that
// day: a run in parts on one day is one run.
func earlierParts(all []*experiment, last string) string {
	earlier, first := 0, last
	for _, x := range all {
		if x.Earlier == nil {
			continue
		}
		if date, _, _ := strings.Cut(x.Earlier.Date, "T"); date != last {
			earlier++
			first = min(first, date)
		}
	}
	if earlier == 0 {
		return ""
	}
	return fmt.Sprintf(" %d of %d experiments are from earlier runs, the first of %s.", earlier, len(all), first)
}

// quoteCosts returns a table of the sidecar's costs.
func (r *record) quoteCosts() string {
	var s strings.Builder
	s.WriteString("| | measured |\n|---|---|\n")
	v := func(experiment, contestant, key string) string {
		if v, ok := r.median(experiment, contestant, key); ok {
			return figure(v)
		}
		return "–"
	}
	const plain, packed = "ullage, none", "ullage, zstd"
	row := func(what, format string, values ...any) { fmt.Fprintf(&s, "| "+what+" | "+format+" |\n", values...) }
	for _, c := range []struct{ name, how string }{{plain, "`--compress none`"}, {packed, "zstd"}} {
		row("catch-up, "+c.how, "%s s of CPU and %s s of wall time a GiB, %s MiB of memory at most, %s MiB on disk a GiB", v("catchup", c.name, "cpu"), v("catchup", c.name, "wall"), v("catchup", c.name, "peak"), v("catchup", c.name, "disk"))
	}
	row("the same by `cat`, and by a bare loop of reading, compressing and writing", "%s and %s s of CPU", v("catchup", "cat", "cpu"), v("catchup", loopName, "cpu"))
	row("20,000 lines/s, one `write(2)` each", "%s %% of a core, %s MiB of memory at most", v("steady", packed, "cpu"), v("steady", packed, "rss"))
	row("until such a line is in the copy, p50 / p99", "%s / %s ms; uncompressed %s / %s ms", v("steady", packed, "p50"), v("steady", packed, "p99"), v("steady", plain, "p50"), v("steady", plain, "p99"))
	row("idle with five files", "%s %% of a core, %s wake-ups/s, %s MiB of memory at most", v("idle", packed, "cpu"), v("idle", packed, "wakes"), v("idle", packed, "rss"))
	for _, c := range []struct{ name, what string }{{"storm", "a rotation storm: files of 1 MiB, five archives, 50 MB/s"}, {"crowded", "the same with two busy loops"}, {"kills", "`kill -9`, five times"}, {"frozen", "the destination frozen for 30 s at 20,000 lines/s"}} {
		row(c.what, "%s lines lost, %s twice", v(c.name, packed, "lost"), v(c.name, packed, "twice"))
	}
	return s.String()
}
