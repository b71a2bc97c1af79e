package main

import (
	"context"
	"fmt"
)

// changes writes this version's section of the changelog: a line for each commit since the
// last version, newest first. If there is no earlier version, the section lists all commits.
func (r *release) changes(ctx context.Context) error {
	commits, title := "HEAD", "all commits"
	if last, err := r.git(ctx, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"); err == nil {
		commits, title = last+"..HEAD", "since "+last
	}
	// If git is missing, the section says so.
	lines, err := r.git(ctx, "log", "--no-merges", "--format=- %s (`%h`)", "--abbrev=12", commits)
	if err != nil {
		lines = "The release was built without git."
	}
	section := fmt.Sprintf("## %s (%s, %s)\n\n%s\n", r.version, r.date.Format("2006-01-02"), title, lines)
	return r.add("ullage_"+r.version+"_changes.md", []byte(section))
}
