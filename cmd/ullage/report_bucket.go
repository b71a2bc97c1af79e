package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/read/bucket"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/clock"
)

func inBucket(arg string) bool { return strings.HasPrefix(arg, bucket.Scheme) }

// podsOf replaces each bucket among the sides of a comparison with the pods whose logs it has.
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
			err = fmt.Errorf("%w; set TMPDIR to a directory with more, or select less by pod=NAME in the URL or by --since and --until", err)
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
