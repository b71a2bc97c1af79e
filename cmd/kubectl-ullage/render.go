package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/cli"
)

// Widths of cells, in runes.
const (
	maxLevel    = 40
	maxProblems = 240
)

// problems says in one line what is wrong with a sidecar; "-" is nothing.
func problems(a answer) string {
	if a.err != nil {
		return clip(cli.Line(a.err.Error()), maxProblems)
	}
	var all []string
	if !a.status.Ready {
		all = append(all, "not ready: "+a.status.Reason)
	}
	if e := a.status.DestinationErrors; e.Last != "" {
		all = append(all, fmt.Sprintf("%d at the destination, last: %s", e.Count, e.Last))
	}
	if l := a.status.Levels; l != nil {
		for _, bad := range l.Annotations {
			all = append(all, bad.Key+": "+bad.Problem)
		}
		all = append(all, l.Errors...)
	}
	return dash(clip(cli.Line(strings.Join(all, "; ")), maxProblems))
}

// level says in one word what the JVMs log: "own", or a raise and how long it
// lasts yet.
func level(st admin.Status) string {
	switch l := st.Levels; {
	case l == nil:
		return "off"
	case l.Raise == nil:
		return "own"
	case !slices.ContainsFunc(l.JVMs, func(j admin.JVM) bool { return j.Applied != "" }):
		return clip(word(l.Raise.Selection), maxLevel) + "(pending)"
	default:
		left := l.Raise.Until.Sub(sidecarNow(st)).Round(time.Second)
		return fmt.Sprintf("%s(%s)", clip(word(l.Raise.Selection), maxLevel), max(0, left))
	}
}

// sidecarNow is the time of the sidecar's clock, which need not be ours.
func sidecarNow(st admin.Status) time.Time {
	if st.Started.IsZero() {
		return time.Now()
	}
	return st.Started.Add(time.Duration(st.UptimeSeconds * float64(time.Second)))
}

// clock renders the end of something. It rounds up: before, it is not over.
func clock(t time.Time) string { return t.Add(time.Second - 1).Local().Format("15:04:05") }

// word is cli.Line without spaces, for a cell that a program may take apart.
func word(s string) string { return strings.ReplaceAll(cli.Line(s), " ", "?") }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// seconds renders a duration with a precision that a person reads.
func seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	default:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// bytesText renders a size as Kubernetes writes it, with three digits: "17",
// "1.20Mi", "1023Ki".
func bytesText(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	v, unit := float64(n)/1024, 0
	for ; v >= 1023.5 && unit < 4; unit++ {
		v /= 1024
	}
	digits := 0
	switch {
	case v < 9.995:
		digits = 2
	case v < 99.95:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + "KMGTP"[unit:unit+1] + "i"
}

// clip shortens s to n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
