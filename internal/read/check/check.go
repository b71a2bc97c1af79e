package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/segment/owner"
)

// Config holds what to check.
type Config struct {
	Since   time.Time // zero: from the beginning
	Until   time.Time // zero: to the end
	Stream  string    // a glob; empty: all streams
	Formats format.Rules

	// Progress, if not nil, is called now and then with how many of the bytes on disk have been
	// read or skipped.
	Progress func(done, total int64)
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() (bad []error) {
	for _, err := range []error{read.Streams(c.Stream).Validate(), c.window().Validate()} {
		if err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

func (c Config) window() clock.Window { return clock.Window{Since: c.Since, Until: c.Until} }

func (c Config) matches(stream string) bool { return read.Streams(c.Stream).Match(stream) }

// Names returns the streams to check in dir, sorted. If dir is a destination, they are its
// streams that match and have segments; if dir is the directory of a stream, it is that stream.
// The stream of marks is not a JVM's, so it is included only if Stream matches it. Names fails
// if dir is neither, or if no stream matches.
func (c Config) Names(dir string) ([]string, error) {
	segs, err := segment.List(dir)
	if err != nil {
		return nil, err
	}
	if len(segs) > 0 {
		if abs, err := filepath.Abs(dir); err == nil && !c.matches(filepath.Base(abs)) {
			return nil, read.Streams(c.Stream).Unmatched([]string{filepath.Base(abs)})
		}
		return []string{"."}, nil
	}
	all, err := segment.Streams(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		if c.matches(name) && (name != mark.Stream || c.Stream != "") && mayHoldSegments(filepath.Join(dir, name)) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	if _, err := os.Stat(filepath.Join(dir, segment.OwnDir)); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("%s holds no streams and no segments: is it the --dest of 'ullage run'?", printable.Name(dir))
	}
	if c.Stream != "" {
		return nil, read.Streams(c.Stream).Unmatched(all)
	}
	return nil, nil
}

// mayHoldSegments also returns true for a directory that cannot be read, so that the check reports it.
func mayHoldSegments(dir string) bool {
	segs, err := segment.List(dir)
	return err != nil || len(segs) > 0
}

// Streams checks the named streams of dir, one after the other. The error is that of ctx
// or of the receiver. An error in a stream is part of the stream's result.
func Streams(ctx context.Context, dir string, names []string, cfg Config, to Receiver) (Total, error) {
	total := Total{Complete: true}
	lack, err := cfg.lack(ctx, dir)
	if err == nil && lack != nil {
		total.Complete, total.Sidecar = false, lack
		err = to.Lack(*lack)
	}
	if err != nil {
		return total, err
	}
	marks, err := readMarks(ctx, dir, cfg)
	if err != nil {
		return total, err
	}
	total.Marks, total.Warnings, total.MarksDamaged = marks.all, marks.warnings, marks.damaged
	sum := &summing{Receiver: to, total: &total}
	p := read.Progress{Tell: cfg.Progress, Total: cfg.size(dir, names)}
	for _, name := range names {
		at := filepath.Join(dir, name)
		if abs, err := filepath.Abs(at); err == nil && name == "." {
			name = filepath.Base(abs)
		}
		s := newStream(name, at, cfg, sum)
		s.progress, s.whole = &p, true
		s.out.MissedArchives, s.out.Truncations = marks.missed[name], marks.cut[name]
		if err := s.check(ctx); err != nil {
			return total, err
		}
		p.Next(s.out.Bytes)
		if s.ends.After(total.Ends) {
			total.Ends = s.ends
		}
	}
	if total.Lines == 0 && sum.gaps == 0 {
		total.Complete, total.Empty = false, true
	}
	return total, nil
}

// size returns the bytes of all streams on disk, if the caller wants progress.
func (c Config) size(dir string, names []string) (bytes int64) {
	if c.Progress == nil {
		return 0
	}
	for _, name := range names {
		segs, _ := segment.List(filepath.Join(dir, name)) // an error here becomes a finding of the stream
		for _, seg := range segs {
			bytes += seg.Size
		}
	}
	return bytes
}

// lack describes the lines that the copy in dir still lacks, in the window and in the streams to
// be checked. It must be called before anything is read: all other lines are then in the copy.
func (c Config) lack(ctx context.Context, dir string) (*owner.Lack, error) {
	dest, stream, ok := owner.Of(dir)
	if !ok {
		return nil, nil
	}
	wants := c.wants(stream)
	if stream == "" && c.Stream == "" {
		wants = nil
	}
	return dest.Lacks(ctx, wants, c.Until)
}

// wants returns which streams of a destination are checked: the given stream or, if only is empty, every stream that matches.
func (c Config) wants(only string) func(stream string) bool {
	if only == "" {
		return c.matches
	}
	return func(stream string) bool { return stream == only }
}

// summing adds up the results of the streams and passes them to the receiver.
type summing struct {
	Receiver
	total *Total
	gaps  uint64
}

// Stream implements [Receiver].
func (s *summing) Stream(st Stream) error {
	t := s.total
	t.Streams++
	t.Runs += st.Runs
	t.Lines += st.Lines
	s.gaps += st.Gaps
	if !st.Complete() {
		t.Complete = false
		t.Incomplete++
	}
	switch {
	case t.Streams == 1, st.Cut && !t.Cut:
		t.Reaches, t.Cut = st.Reaches, st.Cut
	case st.Cut && st.Reaches.After(t.Reaches), !t.Cut && st.Reaches.Before(t.Reaches):
		t.Reaches = st.Reaches
	}
	return s.Receiver.Stream(st)
}
