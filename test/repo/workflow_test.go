package repo

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	workflowRun  = regexp.MustCompile(`(?m)^\s*(?:- )?run: (.*)$`)
	workflowUses = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	makeTarget   = regexp.MustCompile(`^(?:sudo -E env "PATH=\$PATH" )?make ([a-z-]+)$`)
	pinned       = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// Workflows run only existing targets of the Makefile, so that a developer can run whatever CI runs. Input for a
// target is passed in its environment: if an expression such as the name of a tag were pasted into a shell command, it
// could end the command. Actions are pinned to a commit, because a tag can be moved.
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
			t.Errorf("%s runs no commands, want at least one", page)
		}
		for _, run := range runs {
			m := makeTarget.FindStringSubmatch(run[1])
			if m == nil || !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s runs %q, which is not a target of the Makefile", page, run[1])
			}
		}
		for _, uses := range workflowUses.FindAllStringSubmatch(text, -1) {
			if !pinned.MatchString(uses[1]) {
				t.Errorf("%s uses %s, want it pinned to a commit, followed by its version as in # v1.2.3", page, uses[1])
			}
		}
	}
}

// Everything that make test leaves to make ci is a target whose help text ends with the reason in brackets, which make
// test prints at its end. make ci and .ci/run call everything that they promise.
func TestWhatMakeTestLeavesOutHasAReason(t *testing.T) {
	makefile := read(t, "../../Makefile")
	rest := regexp.MustCompile(`(?m)^REST := (.*)$`).FindStringSubmatch(makefile)
	if rest == nil {
		t.Fatal("the Makefile has no REST")
	}
	for _, target := range append(strings.Fields(rest[1]), "race") {
		if !regexp.MustCompile(`(?m)^` + target + `:.*## .*\([^()]+\)$`).MatchString(makefile) {
			t.Errorf("the text of %s does not end with a reason in brackets", target)
		}
	}
	if !regexp.MustCompile(`(?m)^ci: setup test \$\(REST\) ##`).MatchString(makefile) {
		t.Error("make ci does not run test and REST")
	}
	if run := read(t, "../../.ci/run"); !strings.HasSuffix(run, "\nmake ci\n") {
		t.Errorf(".ci/run does not end with make ci: %s", run)
	}
}
