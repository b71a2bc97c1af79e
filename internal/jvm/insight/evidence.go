package insight

import (
	"fmt"
	"strings"
	"time"
)

// kinds are the names of the counters in the text of [evidence].
var kinds = [numCounters]string{throttled: "CPU limit", memory: "memory", disk: "I/O", cpu: "CPU"}

// evidence describes how the counter of a culprit grew between two samples, for the node or for the
// JVMs' cgroups. It leaves out counters that could not be read.
func evidence(k counter, whose string, was, is *counts, from, to *sample) string {
	span := to.at.Sub(from.at)
	var said []string
	if k == throttled {
		sum := "" // a sum, because the kernel adds up the time of all processors, and several JVMs may each have a limit
		if is.some[k]-was.some[k] > span {
			sum = ", as the sum of all processors,"
		}
		text := fmt.Sprintf("throttled for %s%s of %s by the CPU limit", shortTime(is.some[k]-was.some[k]), sum, shortTime(span))
		if was.periods >= 0 && is.periods > was.periods {
			text += fmt.Sprintf(" in %d periods", is.periods-was.periods)
		}
		return text
	}
	if k == disk {
		said = deviceEvidence(from, to)
	}
	text := fmt.Sprintf("%s tasks waited for %s: %s of %s", whose, kinds[k], shortTime(is.some[k]-was.some[k]), shortTime(span))
	if was.full[k] >= 0 && is.full[k] >= was.full[k] {
		text += fmt.Sprintf(", all of them at once: %s", shortTime(is.full[k]-was.full[k]))
	}
	return strings.Join(append(said, text), "; ")
}

// deviceEvidence describes the work of the busiest disk and of the destination's own disk, busy
// or not, between two samples.
func deviceEvidence(from, to *sample) (said []string) {
	span := to.at.Sub(from.at)
	say := func(d *device, name string) {
		text := fmt.Sprintf("%s was busy for %s of %s", name, shortTime(min(d.busy, span)), shortTime(span))
		if d.done > 0 {
			text += fmt.Sprintf(", %d requests took %s on average", d.done, shortTime(d.waited/time.Duration(d.done)))
		}
		said = append(said, text)
	}
	const has = ", which has the destination,"
	dest, known := to.dest.since(&from.dest)
	known = known && dest.name != device{}.name
	most, busy := busiest(from, to)
	switch {
	case busy && known && most.name == dest.name:
		known = false
		say(&most, most.String()+has)
	case busy:
		say(&most, most.String())
	}
	if known {
		say(&dest, dest.String()+has)
	}
	return said
}

// shortTime formats a duration for people: in milliseconds if it is below a second.
func shortTime(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
