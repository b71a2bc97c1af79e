package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// outdated says how many sidecars are not of the newest version among them. It is empty
// where all are of one.
func outdated(answers []answer) string {
	counts, all := map[string]int{}, 0
	for _, a := range answers {
		if v := a.status.Version; a.err == nil && v != "" {
			counts[v]++
			all++
		}
	}
	if len(counts) < 2 {
		return ""
	}
	var versions []string
	for v := range counts {
		versions = append(versions, v)
	}
	slices.SortFunc(versions, compareVersions)
	newest := versions[len(versions)-1]
	return fmt.Sprintf("%d of %d sidecars run an older version than %s (%s): restart their pods", all-counts[newest], all, newest,
		strings.Join(versions[:len(versions)-1], ", "))
}

// compareVersions orders versions such as v0.2.0: by their numbers, and a pre-release
// (v0.2.0-rc.1) before its release.
func compareVersions(a, b string) int {
	x, preX, isPreX := strings.Cut(strings.TrimPrefix(a, "v"), "-")
	y, preY, isPreY := strings.Cut(strings.TrimPrefix(b, "v"), "-")
	numbers := func(text string) (all []int) {
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part) // what is not a number comes first
			all = append(all, n)
		}
		return all
	}
	return cmp.Or(slices.Compare(numbers(x), numbers(y)), cmp.Compare(rank(!isPreX), rank(!isPreY)), cmp.Compare(preX, preY))
}
