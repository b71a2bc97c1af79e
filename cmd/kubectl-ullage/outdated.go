package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outdated returns a message about how many sidecars are older than the newest known version, or an empty string if no
// sidecar is older. The newest known version is the newest among the sidecars, or own, the version of this program, if
// own is a newer release.
func outdated(answers []answer, own string) string {
	var all []string
	for _, a := range answers {
		if v := a.status.Version; a.err == nil && v != "" {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return ""
	}
	newest := slices.MaxFunc(all, compareVersions)
	if released.MatchString(own) && compareVersions(own, newest) > 0 {
		newest = own
	}
	older := slices.DeleteFunc(all, func(v string) bool { return compareVersions(v, newest) == 0 })
	if len(older) == 0 {
		return ""
	}
	slices.SortFunc(older, compareVersions)
	return fmt.Sprintf("%d of %d sidecars are older than %s (%s): restart their pods",
		len(older), len(all), newest, strings.Join(slices.Compact(older), ", "))
}

// released matches a version that can be compared. A build without a tag is named after its commit, or (devel).
var released = regexp.MustCompile(`^v?[0-9]+\.[0-9]`)

// compareVersions orders versions such as v0.2.0: by their numbers, and a pre-release
// (v0.2.0-rc.1) before its release.
func compareVersions(a, b string) int {
	x, preX, isPreX := strings.Cut(strings.TrimPrefix(a, "v"), "-")
	y, preY, isPreY := strings.Cut(strings.TrimPrefix(b, "v"), "-")
	numbers := func(text string) (all []int) {
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part) // text that is not a number sorts first
			all = append(all, n)
		}
		return all
	}
	return cmp.Or(slices.Compare(numbers(x), numbers(y)), cmp.Compare(rank(!isPreX), rank(!isPreY)), cmp.Compare(preX, preY))
}
