package insight

import (
	"fmt"
	"strings"
	"time"
)

// kinds are the names of the counters in [evidence].
var kinds = [numCounters]string{throttled: "CPU limit", memory: "memory", disk: "I/O", cpu: "CPU"}

// evidence says in words what the counter of a culprit did between two samples, of the
// node or of the JVMs' cgroups. What could not be read is left out.
func evidence(k counter, whose string, was, is *counts, from, to *sample) string {
	span := to.at.Sub(from.at)
	var said []string
	if k == throttled {
		text := fmt.Sprintf("throttled for %s of %s by the CPU limit", shortTime(is.some[k]-was.some[k]), shortTime(span))
		if was.periods >= 0 && is.periods > was.periods {
			text += fmt.Sprintf(" in %d periods", is.periods-was.periods)
		}
		return text
	}
	if d, ok := busiest(from, to); ok && k == disk {
		text := fmt.Sprintf("%s was busy for %s of %s", &d, shortTime(min(d.busy, span)), shortTime(span))
		if d.done > 0 {
			text += fmt.Sprintf(", %d requests took %s on average", d.done, shortTime(d.waited/time.Duration(d.done)))
		}
		said = append(said, text)
	}
	text := fmt.Sprintf("%s tasks waited for %s: %s of %s", whose, kinds[k], shortTime(is.some[k]-was.some[k]), shortTime(span))
	if was.full[k] >= 0 && is.full[k] >= was.full[k] {
		text += fmt.Sprintf(", all of them at once: %s", shortTime(is.full[k]-was.full[k]))
	}
	return strings.Join(append(said, text), "; ")
}

// shortTime writes a duration as a reader wants it: milliseconds below a second.
func shortTime(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
