package sum

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// maxSizes bounds the number of streams that have advice about the heap; the JSON form has
// all sizes.
const maxSizes = 5

// sizes completes the sizes of heaps with facts that only the whole log shows. For the longest run of each
// stream, it returns the advice: a size to set, or why no size follows from the log.
func (s *Sum) sizes() (set, refused []view.Advice) {
	r, longest := &s.out, []*view.Run{}
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Sizing == nil {
			continue
		}
		s.completeSize(run)
		if last := len(longest) - 1; last < 0 || longest[last].Stream != run.Stream {
			longest = append(longest, run)
		} else if other := longest[last]; run.Sizing.Now != other.Sizing.Now && run.Started && other.Started {
			refuse(other.Sizing, "the size of the heap was changed at a restart; --since and --until choose one of them")
		} else if run.Span > other.Span {
			longest[last] = run
		}
	}
	for _, run := range longest {
		to := &set
		if run.Sizing.Refused != "" {
			to = &refused
		}
		if len(*to) < maxSizes {
			*to = append(*to, sizeAdvice(run, len(r.Runs) > 1))
		}
	}
	return set, refused
}

// completeSize withdraws the size of a run if the run's flags, or losses in the log, make it
// doubtful.
func (s *Sum) completeSize(run *view.Run) {
	z := run.Sizing
	for flag := range strings.FieldsSeq(run.Flags) {
		for _, fixed := range []string{"-Xmn", "-XX:NewSize=", "-XX:MaxNewSize=", "-XX:NewRatio=", "-XX:G1NewSizePercent=", "-XX:InitiatingHeapOccupancyPercent="} {
			if strings.HasPrefix(flag, fixed) {
				refuse(z, flag+" sets its own size for the young generation or the marking, which the rule does not cover")
			}
		}
		if size, ok := strings.CutPrefix(flag, "-Xmx"); ok && pause.Size(size) > 0 {
			z.Now = float64(pause.Size(size))
		}
	}
	if !s.out.Complete {
		refuse(z, "the log is not complete; use --since and --until to leave out the incomplete time")
	}
	fill(&z.Others)
}

// refuse withdraws a size. Only the first reason is kept.
func refuse(z *view.Sizing, why string) {
	z.Refused = cmp.Or(z.Refused, why)
	z.Max, z.Container, z.Others = 0, 0, []view.ForOverhead{}
}

// sizeAdvice returns the advice about the heap of a run. If there are several runs, it
// names the run.
func sizeAdvice(run *view.Run, named bool) view.Advice {
	z, name := run.Sizing, ""
	if named {
		name = fmt.Sprintf("%s, run %d: ", run.Stream, run.Number)
	}
	evidence := fmt.Sprintf("%s%s in %s", name, view.Plural(z.Collections, "collection"), view.Duration(z.Span))
	if z.Refused != "" {
		return view.Advice{Text: "No heap size is recommended: " + z.Refused + ".", Evidence: evidence + "."}
	}
	text := fmt.Sprintf("Give the JVM -Xms%[1]s -Xmx%[1]s, and its container about %[2]s: collections then take %[3]s of its time.",
		flagSize(z.Max), view.Size(z.Container), percents(z.Target))
	evidence = fmt.Sprintf("%sLive set %s at its peak in %s, after %s", name, view.Size(z.Live), view.Duration(z.Span), view.Plural(z.Cycles, "old cycle"))
	if z.Allocated > 0 {
		evidence += fmt.Sprintf("; %s/s allocated", view.Size(z.Allocated))
	}
	if z.Overhead != nil {
		evidence += fmt.Sprintf("; collections took %s in the busiest hour", percents(*z.Overhead))
	}
	if z.Humongous > 0 {
		evidence += fmt.Sprintf("; %d had humongous objects, which need adjacent free regions", z.Humongous)
	}
	switch change := z.Max - z.Now; {
	case change < 0:
		evidence += fmt.Sprintf("; that saves %s of %s", view.Size(-change), view.Size(z.Now))
	case change > 0:
		evidence += fmt.Sprintf("; that costs %s more than %s", view.Size(change), view.Size(z.Now))
	}
	for _, other := range z.Others {
		evidence += fmt.Sprintf("; %s for %s", flagSize(other.Max), percents(other.Overhead))
	}
	return view.Advice{Text: text, Evidence: evidence + ". " + confidence(z)}
}

// confidence says in words how reliable a size is.
func confidence(z *view.Sizing) string {
	switch {
	case z.Starved > 0:
		return fmt.Sprintf("Confidence is low: %s found no room, so the size is not below the largest heap in the log.", view.Plural(z.Starved, "collection"))
	case z.Span < 3600:
		return "Confidence is low: the log covers less than an hour, and a busier hour would need more."
	case z.Cycles < 3:
		return "Confidence is low: only a few old cycles show the live set."
	case z.Span < 86400:
		return "Confidence is fair: the log does not cover every hour of a day."
	case z.Cycles < 10:
		return "Confidence is fair: there are only a few old cycles."
	}
	return "Confidence is good."
}

// flagSize formats a size for a HotSpot flag, in MiB.
func flagSize(bytes float64) string { return fmt.Sprintf("%.0fm", bytes/mi) }

func percents(share float64) string { return fmt.Sprintf("%.2g %%", 100*share) }
