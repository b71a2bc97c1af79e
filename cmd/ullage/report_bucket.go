package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/bucket"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/clock"
)

func inBucket(arg string) bool { return strings.HasPrefix(arg, bucket.Scheme) }

// podsOf replaces each bucket among the sides of a comparison with the pods whose logs are in the bucket.
func podsOf(ctx context.Context, sides []side) (all []side, err error) {
	for _, s := range sides {
		if !inBucket(s.input) {
			all = append(all, s)
			continue
		}
		pods, err := bucket.Pods(ctx, s.input)
		if err != nil {
			return nil, err
		}
		for _, p := range pods {
			all = append(all, side{input: p.URL, group: s.group, name: p.Name})
		}
	}
	return all, nil
}

// readSide makes a report of an input of a comparison. For a pod in a bucket, it reads only the marks in which the
// sidecar has noted what the log showed. If these marks do not suffice, it reads the log itself. The capacity of logs
// limits how many logs are read at the same time.
func readSide(ctx context.Context, input string, cfg report.Config, logs chan struct{}) (*view.Report, error) {
	if inBucket(input) && marksMayDo(cfg) {
		if r, err := readMarks(ctx, input, cfg); err == nil || ctx.Err() != nil {
			return r, err
		}
	}
	logs <- struct{}{}
	defer func() { <-logs }()
	return readInputs(ctx, []string{input}, cfg)
}

// leastMarked is the shortest window for which marks are read instead of the log: a mark covers about ten minutes.
const leastMarked = time.Hour

// marksMayDo reports whether marks may suffice for a report. The floor must be the default, because marks have the
// suspected stalls only for the sidecar's own floor, which is taken to be the default.
func marksMayDo(cfg report.Config) bool {
	until := cfg.Until
	if until.IsZero() {
		until = time.Now()
	}
	return until.Sub(cfg.Since) >= leastMarked && cfg.Floor.Duration() == pause.DefaultFloor.Duration()
}

// readMarks makes a report from the marks of a pod. An error may mean that the marks do not suffice.
func readMarks(ctx context.Context, input string, cfg report.Config) (*view.Report, error) {
	dir, err := os.MkdirTemp("", "ullage-report-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the marks of a bucket: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // the report uses names without symbolic links
		return nil, err
	}
	containers, logs, err := bucket.FetchMarks(ctx, input, clock.Window{Since: cfg.Since, Until: cfg.Until}, dir)
	if err != nil {
		return nil, err
	}
	cfg.Logs = logs
	return report.Read(ctx, containers, cfg)
}

// readInputs makes a report of inputs. It fetches the segments of buckets first, into a directory that
// it removes at the end.
func readInputs(ctx context.Context, inputs []string, cfg report.Config) (*view.Report, error) {
	if !slices.ContainsFunc(inputs, inBucket) {
		return report.Read(ctx, inputs, cfg)
	}
	dir, err := os.MkdirTemp("", "ullage-report-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the segments of a bucket: %w", err)
	}
	defer os.RemoveAll(dir)
	var local []string
	for _, input := range inputs {
		if !inBucket(input) {
			local = append(local, input)
			continue
		}
		to, err := os.MkdirTemp(dir, "")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the segments of a bucket: %w", err)
		}
		containers, err := bucket.Fetch(ctx, input, clock.Window{Since: cfg.Since, Until: cfg.Until}, to, cfg.Progress)
		if errors.Is(err, bucket.ErrNoRoom) {
			err = fmt.Errorf("%w; set TMPDIR to a directory with more room, or select less with pod=NAME in the URL or with --since and --until", err)
		}
		if err != nil {
			return nil, err
		}
		local = append(local, containers...)
	}
	r, err := report.Read(ctx, local, cfg)
	if err != nil {
		return nil, err
	}
	r.Name = strings.Join(inputs, ", ")
	return r, nil
}
