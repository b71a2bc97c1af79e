package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// write writes the page, and in its directory the plots and the pictures for other pages.
func (r *record) write(page string) error {
	dir := filepath.Dir(page)
	var s strings.Builder
	r.head(&s)
	r.writeGoals(&s)
	for _, e := range r.Experiments {
		fmt.Fprintf(&s, "\n## %s\n\n**Question.** %s\n\n", e.Title, e.Question)
		if e.NotRun != "" {
			fmt.Fprintf(&s, "Not run on this machine: %s.\n", e.NotRun)
			continue
		}
		fmt.Fprintf(&s, "**Method.** %s %s\n\n**Result.** %s\n\n", e.Method, e.lasted(), e.result())
		e.table(&s)
		e.listings(&s)
		if e.Plot != "" {
			name := e.Name + ".svg"
			if err := e.draw(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("draw %s: %w", e.Name, err)
			}
			fmt.Fprintf(&s, "\n![%s: %s](%s)\n", e.Title, e.title(e.Plot), name)
		}
		if err := e.drawHiccups(&s, dir); err != nil {
			return fmt.Errorf("draw %s: %w", e.Name, err)
		}
		fmt.Fprintf(&s, "\n**Caveats.** %s\n", e.Threat)
	}
	if f, ok := r.fleet(); ok {
		f.write(&s)
	}
	r.appendix(&s)
	if err := r.drawFreeze(dir); err != nil {
		return fmt.Errorf("draw the freeze: %w", err)
	}
	return os.WriteFile(page, []byte(s.String()), 0o644)
}

func (r *record) head(s *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(s, "# What was measured\n\n`%s` wrote this page and its plots from one recorded run. Do not edit it. [benchmarks.md](../benchmarks.md) is the summary.\n\n", r.Command)
	s.WriteString(r.repeated() + " CPU is user and system time.\n\n| | |\n|---|---|\n")
	fmt.Fprintf(s, "| date | %s |\n", r.Date)
	fmt.Fprintf(s, "| machine | %s, %d cores, %d MiB, Linux %s, %s |\n", m.CPU, m.Cores, m.MemoryMiB, m.Kernel, m.Disk)
	var versions, jdks []string
	for _, v := range m.Versions {
		if jdk, ok := strings.CutPrefix(v, "jdk"); ok {
			jdks = append(jdks, jdk)
		} else {
			versions = append(versions, v)
		}
	}
	for _, c := range r.Contestants {
		if c.Version != "" {
			versions = append(versions, c.Name+" "+c.Version)
		}
	}
	fmt.Fprintf(s, "| versions | %s |\n| JDKs | %s: all that were found, 17 or later |\n| noise | %s |\n", strings.Join(versions, "; "), strings.Join(jdks, " and "), r.Noise)
	if r.Seconds > 0 {
		fmt.Fprintf(s, "| duration | %s, of all experiments |\n", seconds(r.Seconds))
	}
	if text := calmness(r); text != "" {
		fmt.Fprintf(s, "\n%s\n", text)
	}
	if wasBusy(&r.sitting) {
		fmt.Fprintf(s, "\n**The machine was busy**: other processes took CPU time from what is measured here. Measure again when it is quiet.\n")
	}
}

// wasBusy reports whether the machine was busy during the run. An old record, of a run that did not wait for a quiet
// machine, has only the load average.
func wasBusy(s *sitting) bool {
	if s.Calm != nil {
		return s.Calm.GaveUp
	}
	return s.Machine.Cores > 0 && s.Load > float64(s.Machine.Cores)
}

// calmness describes how the run waited for a quiet machine and repeated measurements.
func calmness(r *record) string {
	if r.Calm == nil {
		return ""
	}
	var sum repeat
	for _, x := range r.Experiments {
		sum.Repeated += x.Repeated
		sum.Kept += x.Kept
	}
	return fmt.Sprintf("A round begins when other processes have used at most %.0f %% of a core, and other machines taken at most %.0f %% of the CPU time, in each of %d seconds: the run waited %s for that. "+
		"A measurement during which others used more than %.0f %% of a core on average, or other machines took more than %.0f %%, is repeated, at most twice: %d were repeated; %d were disturbed in the end and are in the tables.",
		100*calmOthers, 100*mostStolen, calmFor, seconds(r.Calm.Waited), 100*disturbedOthers, 100*mostStolen, sum.Repeated, sum.Kept)
}

// repeated describes how the figures of the page are computed from the rounds.
func (r *record) repeated() string {
	most := 0
	for _, e := range r.Experiments {
		most = max(most, e.rounds())
	}
	if most <= 1 {
		return "Each figure is that of one run: every experiment has one round. Where two more follow in parentheses, it is the median of several runs, and these are the least and the largest."
	}
	return fmt.Sprintf("Each figure is the median of the rounds, with its 95 %% interval in parentheses (percentile bootstrap, %s resamples; with fewer than %d rounds, the least and the largest value). In each round, every contestant runs once, in random order, so that a machine that slows down slows all of them. A percentile is there only if at least %d values lie beyond it.", grouped(resamples), leastRounds, leastBeyond)
}

// rounds returns how often every contestant ran.
func (e *experiment) rounds() (least int) {
	for _, r := range e.Rows {
		if least == 0 || len(r.Runs) < least {
			least = len(r.Runs)
		}
	}
	return least
}

// lasted describes how often every contestant ran, and how long the experiment took.
func (e *experiment) lasted() string {
	text := "One round"
	if n := e.rounds(); n != 1 {
		text = fmt.Sprintf("%d rounds", n)
	}
	if e.Seconds > 0 {
		text += ", " + seconds(e.Seconds)
	}
	if noise := e.repeat.String(); noise != "" {
		text += "; " + noise
	}
	if s := e.Earlier; s != nil {
		date, _, _ := strings.Cut(s.Date, "T")
		text += fmt.Sprintf("; in an earlier run, of %s, by `%s`", date, s.Command)
		for _, version := range s.Machine.Versions {
			if strings.HasPrefix(version, "ullage ") {
				text += ", of " + version
			}
		}
		if wasBusy(s) {
			text += ", on a busy machine"
		}
	}
	return text + "."
}

// seconds renders a duration like "90 s" or "26 minutes".
func seconds(n float64) string {
	if n < 120 {
		return fmt.Sprintf("%.0f s", n)
	}
	return fmt.Sprintf("%.0f minutes", n/60)
}

// result describes in words what the table and the plot show.
func (e *experiment) result() string {
	var parts []string
	if say := results[e.Name]; say != nil {
		parts = append(parts, say(e))
	} else if text := e.spread(); text != "" {
		parts = append(parts, text)
	}
	if text := e.exactness(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// spread describes the least and the largest value of the plotted column.
func (e *experiment) spread() string {
	var least, most *row
	var low, high float64
	for _, r := range e.Rows {
		v, _, _, ok := r.of(e.Plot)
		if ok && (least == nil || v < low) {
			least, low = r, v
		}
		if ok && (most == nil || v > high) {
			most, high = r, v
		}
	}
	if least == nil || low == high {
		return ""
	}
	title := e.title(e.Plot)
	text := strings.ToUpper(title[:1]) + title[1:] + fmt.Sprintf(": from %s (%s) to %s (%s)", figure(low), least.Contestant, figure(high), most.Contestant)
	if low > 0 {
		text += fmt.Sprintf(", %s times as much", figure(high/low))
	}
	return text + "."
}

// exactness names the contestants that neither lost nor repeated a line in any round, and the losses of the others.
func (e *experiment) exactness() string {
	var exact, others []string
	for _, r := range e.Rows {
		_, _, lost, ok := r.of("lost")
		_, _, twice, _ := r.of("twice")
		var did []string
		if lost > 0 {
			did = append(did, "lost "+figure(lost))
		}
		if twice > 0 {
			did = append(did, "repeated "+figure(twice))
		}
		switch {
		case !ok:
		case did == nil:
			exact = append(exact, r.Contestant)
		default:
			others = append(others, r.Contestant+" "+strings.Join(did, " and "))
		}
	}
	switch {
	case exact == nil && others == nil:
		return ""
	case exact == nil:
		return "Every contestant lost or repeated lines."
	case others == nil:
		return "No contestant lost or repeated a line."
	case len(others) > 6:
		return "These lost and repeated no line: " + strings.Join(byThreads(exact), "; ") + ". All others did."
	}
	return "These lost and repeated no line: " + strings.Join(byThreads(exact), "; ") + ". The others did, at most in a round: " + strings.Join(others, "; ") + "."
}

// threadsMark separates a contestant from its number of threads.
const threadsMark = "; threads: "

// byThreads joins names that differ only in the number of threads.
func byThreads(names []string) (all []string) {
	threads := map[string][]string{}
	for _, name := range names {
		base, n, _ := strings.Cut(name, threadsMark)
		if threads[base] == nil {
			all = append(all, base)
		}
		threads[base] = append(threads[base], n)
	}
	for i, base := range all {
		if n := threads[base]; n[0] != "" {
			all[i] = fmt.Sprintf("%s (threads: %s)", base, strings.Join(n, ", "))
		}
	}
	return all
}

// appendix writes the configurations of the contestants.
func (r *record) appendix(s *strings.Builder) {
	if len(r.Contestants) == 0 {
		return
	}
	s.WriteString("\n## Configurations\n\nEach contestant runs as its documentation recommends for files that rotate and for a restart and writes the lines as they are.\n")
	if len(r.Absent) > 0 {
		fmt.Fprintf(s, "\nNot compared: %s.\n", strings.Join(r.Absent, "; "))
	}
	for _, c := range r.Contestants {
		fmt.Fprintf(s, "\n%s:\n\n```\n%s\n```\n", strings.TrimSpace(c.Name+" "+c.Version), strings.TrimSpace(c.Config))
	}
}

// table writes the rows as a table.
func (e *experiment) table(s *strings.Builder) {
	s.WriteString("|")
	for _, c := range e.Columns {
		s.WriteString(" | " + c.Title)
	}
	s.WriteString(" |\n|---" + strings.Repeat("|---", len(e.Columns)) + "|\n")
	for _, r := range e.Rows {
		s.WriteString("| " + r.Contestant)
		for _, c := range e.Columns {
			s.WriteString(" | " + r.cell(c.Key))
		}
		s.WriteString(" |\n")
	}
}

// listings writes the text that rows have in addition to figures.
func (e *experiment) listings(s *strings.Builder) {
	for _, r := range e.Rows {
		if len(r.Listing) > 0 {
			fmt.Fprintf(s, "\n```\n%s\n```\n", strings.Join(r.Listing, "\n"))
		}
	}
}

func (r *row) cell(key string) string {
	values := r.values(key)
	if len(values) == 0 {
		return "–"
	}
	return spreadOf(len(values), func(drawn []int) float64 { return medianOf(values, drawn) }).String()
}
