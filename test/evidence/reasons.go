package main

import (
	"fmt"
	"math"
	"strings"
)

func (r *record) writeGoals(s *strings.Builder) {
	all := r.goals()
	if len(all) == 0 {
		return
	}
	s.WriteString("\n## Goals\n\nThe goals that the project set itself, and what this run measured. A peer is a shipper that others maintain; the best one is that with the least value. A goal is reached if the whole interval is within the limit, missed if the whole interval is outside, and otherwise not decided.\n\n")
	s.WriteString("| | measured | goal | |\n|---|---|---|---|\n")
	short := map[string]bool{}
	for _, g := range all {
		verdict := g.verdict()
		if verdict != reached {
			verdict, short[g.figure] = "**"+verdict+"**", true
		}
		fmt.Fprintf(s, "| %s | %s | %s | %s |\n", g.what, g.measured, g.bound(), verdict)
	}
	if text := r.repeatability(); text != "" {
		s.WriteString("\n" + text + "\n")
	}
	for _, reason := range reasons {
		for _, key := range strings.Split(reason.figures, " ") {
			if text := reason.text(r); short[key] && text != "" {
				fmt.Fprintf(s, "\n**%s** %s\n", reason.why, text)
				break
			}
		}
	}
}

// twice has the contestants that do the same in two experiments, with their names in both.
var twice = []struct{ catchup, tried string }{
	{loopName, loopName},
	{"ullage, none", "`ullage run --compress none`"},
	{"ullage, zstd", "`ullage run --compress zstd`"},
}

// repeatability describes how far two measurements of the same thing differ.
func (r *record) repeatability() string {
	var pairs []string
	most := 0.0
	for _, t := range twice {
		a, ok := r.median("catchup", t.catchup, "cpu")
		b, again := r.median("tried", t.tried, "cpu")
		if ok && again && min(a, b) > 0 {
			most = max(most, 100*(max(a, b)/min(a, b)-1))
			pairs = append(pairs, fmt.Sprintf("%s: %s and %s", t.catchup, figure(a), figure(b)))
		}
	}
	if pairs == nil {
		return ""
	}
	return fmt.Sprintf("**How exact that is.** This run measured some contestants twice, in [Catch-up](#catch-up) and in [Ways to copy](#ways-to-copy). Their CPU, s/GiB, differs by up to %.0f %%: %s. "+
		"If a goal is reached or missed by less than that, the next run may give the opposite verdict.", math.Ceil(most), strings.Join(pairs, "; "))
}

// A reason explains why a goal may be missed. It is on the page if the goal is missed, with figures from the
// record.
type reason struct {
	figures string // the figures of the goals, separated by spaces
	why     string
	text    func(*record) string // empty: the record lacks a figure
}

func fixed(text string) func(*record) string { return func(*record) string { return text } }

var reasons = []reason{
	{"catchup/cpu", "Where catching up spends its time.", (*record).catchUpTime},
	{"idle/rss", "What an idle sidecar's memory is.", (*record).idleMemory},
	{"idle/cpu idle/wakes", "Where an idle sidecar spends its time.", fixed("Its timers read requests about levels and scan the source (every second each), find JVMs, sample the kernel's counters, retry refused streams and release pages (every 5 s each), " +
		"collect garbage and check the segments (every minute each). " +
		"Where possible, the timers of a sidecar fire together. Each time, more than one thread wakes up.")},
	{"steady/cpu", "Where a steady load spends its time.", (*record).steadyTime},
	{"steady/p99", "How old a line gets.", fixed("A line can be read once its batch is written: after 256 KiB (with compression after 448 KiB, " +
		"so that frames compress well) or after `--sync-interval`, whichever comes first. A shipper that writes each line at once shows it sooner, for more CPU time.")},
	{"storm/lost storm/twice crowded/lost kills/lost kills/twice frozen/lost million/lost", "Why lines are lost or repeated.", fixed("Lines are lost if the sidecar gets no CPU time for so long that the JVM deletes an archive or a ring is full. " +
		"Nothing else may lose or duplicate a line: if a kill or a frozen disk does, that is a defect.")},
	{"stopped/longest saturated/longest", "Why hiccups differ from row to row.", fixed("A JVM, its collector's threads and the sidecar share the cores; the rows without any log show how far apart such runs are.")},
	{"million/p9999 million/p999", "Why calls take long.", fixed("The application's threads and the sidecar share the cores, and the duration of a call includes waits for a core.")},
	{"report/speed", "Why a report takes long.", fixed("The limit of its speed is absolute: a slower core misses it.")},
	{"hindsight/cpu", "Why holding and saving cost more than persisting.", fixed("Held lines and others alternate. Held lines are copied separately and compressed into a second log on the tmpfs, whose records have their own checksums; the others go to the segments as usual. " +
		"A line that is saved is read back from there, checked, and appended to a segment of the detail. Saving happens around incidents; holding is what hindsight costs all day.")},
	{"tried/cpu", "Why reading pauses weighs that much.", (*record).pausesTime},
}

// catchUpTime splits the CPU time of a catch-up into parts, according to the times of loops that do
// only a part of the work.
func (r *record) catchUpTime() string {
	const bare = "read, write, `sync_file_range`, punch holes"
	copied, ok1 := r.median("tried", bare, "cpu")
	blind, ok2 := r.median("tried", pausePairs[0].off, "cpu")
	seeing, ok3 := r.median("tried", pausePairs[0].on, "cpu")
	plain, ok4 := r.median("tried", "read, write", "cpu")
	packed, ok5 := r.median("tried", loopName, "cpu")
	zstd, ok6 := r.median("tried", pausePairs[1].on, "cpu")
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return "The limit in s/GiB is absolute: a slower core misses it."
	}
	pauses := "takes " + figure(seeing-blind)
	if seeing <= blind {
		pauses = "takes less than the difference between two runs"
	}
	text := fmt.Sprintf("By [Ways to copy](#ways-to-copy), a sidecar without compression takes %s s/GiB. A loop that reads, writes, writes back and punches holes, and guarantees nothing, takes %s of that; "+
		"reading pauses out of the lines %s (`--jvm-metrics=false` saves that). The rest finds the ends and the levels of lines, and keeps positions. "+
		"With zstd, the sidecar takes %s s/GiB, and the encoder %s of that, which is what compression adds to a loop of reading and writing.",
		figure(seeing), figure(copied), pauses, figure(zstd), figure(packed-plain))
	if freeing, ok := r.median("tried", freeingName, "cpu"); ok {
		text += fmt.Sprintf(" A loop that compresses with it, writes and punches holes takes %s s/GiB.", figure(freeing))
	}
	return text
}

func (r *record) idleMemory() string {
	most, ok1 := r.median("idle", "ullage, zstd", "rss")
	least, ok2 := r.median("idle", "ullage, zstd", "least")
	text := "A part of it belongs to the Go runtime, and hardly changes. The rest is pages of the program that were touched since the sidecar last released them, which it does every 5 s. " +
		"Garbage collection and stack growth touch most of them."
	if ok1 && ok2 {
		text += fmt.Sprintf(" In this run it had %s MiB at the least, after a release, and %s at the most.", figure(least), figure(most))
	}
	return text
}

// steadyTime splits the CPU time at a steady rate into the part that depends on the number of lines
// and the rest.
func (r *record) steadyTime() string {
	all, ok1 := r.median("steady", "ullage, zstd", "cpu")
	wakes, ok2 := r.median("steady", "ullage, zstd", "wakes")
	low, ok3 := r.median("lines", "1,000 lines/s", "cpu")
	high, ok4 := r.median("lines", "1,000,000 lines/s", "cpu")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return "The limit is absolute: a slower core misses it."
	}
	lines := (high - low) / (1_000_000 - 1_000) * linesASec
	if lines > all {
		return "The limit is absolute: a slower core misses it."
	}
	return fmt.Sprintf("According to [CPU time by lines a second](#growth-lines-a-second), the lines themselves take %s %% of a core. The other %s %% do not depend on the number of lines: while lines arrive, the reader polls every 20 ms and "+
		"the writer commits once a second; with the runtime's own threads, they wake up %s times a second.", figure(lines), figure(all-lines), figure(wakes))
}

func (r *record) pausesTime() string {
	var parts []string
	for _, p := range pausePairs {
		off, ok := r.median("tried", p.off, "cpu")
		on, has := r.median("tried", p.on, "cpu")
		if ok && has {
			parts = append(parts, fmt.Sprintf("%s of %s s/GiB %s", figure(on-off), figure(on), p.name))
		}
	}
	return "Reading pauses takes " + strings.Join(parts, ", and ") + ". Without compression, the rest of the work on a line is only to find its end and its level. `--jvm-metrics=false` turns the reading of pauses off."
}
