package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
)

// Widths of cells, in runes.
const (
	maxLevel    = 40
	maxProblems = 240
)

// problems describes in one line what is wrong with a sidecar; "-" means nothing.
func problems(a answer) string {
	if a.err != nil {
		return printable.Clip(printable.Line(a.err.Error()), maxProblems)
	}
	var all []string
	if !a.status.Ready {
		all = append(all, "not ready: "+a.status.Reason)
	}
	if e := a.status.JVMEnd; e != nil && a.status.Now().Sub(e.At) < recently {
		all = append(all, "a JVM ended, "+e.Text())
	}
	if e := a.status.DestinationErrors; e.Last != "" {
		all = append(all, fmt.Sprintf("%d at the destination, last: %s", e.Count, e.Last))
	}
	if u := a.status.JVMUser; u != nil {
		all = append(all, u.Advice)
	}
	if a.of.raising && levelsOff(a.status.Levels) {
		all = append(all, logKey+" has no effect: "+a.whyOff().Error())
	}
	if l := a.status.Levels; l != nil {
		for _, bad := range l.Annotations {
			all = append(all, bad.Key+": "+bad.Problem)
		}
		all = append(all, l.Errors...)
	}
	return cmp.Or(printable.Clip(printable.Line(strings.Join(all, "; ")), maxProblems), "-")
}

// level describes in one word what the JVMs log: "own", or a raise with its remaining time.
func level(st admin.Status) string {
	switch l := st.Levels; {
	case levelsOff(l):
		return "off"
	case l.Raise == nil:
		return "own"
	case !slices.ContainsFunc(l.JVMs, func(j admin.JVM) bool { return j.Applied != "" }):
		return printable.Clip(word(l.Raise.Selection), maxLevel) + "(pending)"
	default:
		left := l.Raise.Until.Sub(st.Now()).Round(time.Second)
		return fmt.Sprintf("%s(%s)", printable.Clip(word(l.Raise.Selection), maxLevel), max(0, left))
	}
}

// usedShare returns the used part of the budget.
func usedShare(st admin.Status) string {
	if st.BudgetBytes <= 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f%%", 100*(1-st.FreeShare()))
}

// word is like printable.Line, without spaces, for a cell that programs may parse.
func word(s string) string { return strings.ReplaceAll(printable.Line(s), " ", "?") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
