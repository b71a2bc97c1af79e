package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	workflowRun  = regexp.MustCompile(`(?m)^\s*(?:- )?run: (.*)$`)
	workflowUses = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	makeTarget   = regexp.MustCompile(`^make ([a-z-]+)( [A-Z]+=(\$\{\{ \S+ \}\}|[\w./])+)*$`)
	pinnedMajor  = regexp.MustCompile(`^[\w-]+/[\w-]+@v\d+$`)
)

// Workflows run targets of the Makefile that exist, and nothing else, so that a
// developer can run whatever CI runs. Actions are pinned to a major version.
func TestWorkflowsCallTargets(t *testing.T) {
	makefile := read(t, "../../Makefile")
	pages, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there is no workflow: %v", err)
	}
	for _, page := range pages {
		text := read(t, page)
		runs := workflowRun.FindAllStringSubmatch(text, -1)
		if len(runs) == 0 {
			t.Errorf("%s runs nothing", page)
		}
		for _, run := range runs {
			m := makeTarget.FindStringSubmatch(run[1])
			if m == nil || !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s runs %q, which is not a target of the Makefile", page, run[1])
			}
		}
		for _, uses := range workflowUses.FindAllStringSubmatch(text, -1) {
			if !pinnedMajor.MatchString(uses[1]) {
				t.Errorf("%s uses %s: pin a major version", page, uses[1])
			}
		}
	}
}
