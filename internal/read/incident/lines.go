package incident

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/line/naming"
)

// Stream is a stream with lines in the window.
type Stream struct {
	Name string

	// Print prints the lines of the stream in the window. It is called twice and must print the same both times.
	Print func(io.Writer) error

	bytes int64 // bytes that Print prints, without secrets
	share int64 // bytes of the stream that may be in the archive
}

// kept reports whether the lines of the stream may be in an archive.
func (s *Stream) kept() bool {
	kind := naming.KindOf(s.Name)
	return kind == naming.KindLog || kind == naming.KindCrash
}

// Lines adds the lines of each stream as a part. No part may be added after that.
func (a *Archive) Lines(streams []Stream) error {
	for i := range streams {
		if s := &streams[i]; s.kept() {
			counting := newFilter(io.Discard, s.Name, 0)
			_ = counting.print(s.Print) // the second call returns the same error
			s.bytes = counting.bytes
		}
	}
	divide(streams, a.left)
	for i := range streams {
		s := &streams[i]
		p := Part{Name: "lines/" + strings.ReplaceAll(url.PathEscape(s.Name), ":", "%3A") + ".txt", About: "the lines of " + s.Name}
		if !s.kept() {
			p.Problem = "left out, because it may contain secrets of the application"
			a.note(p)
			continue
		}
		if err := a.add(p, a.left, func(w io.Writer) (int64, error) {
			f := newFilter(w, s.Name, s.bytes-s.share)
			err := f.print(s.Print)
			return f.skipped, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// divide sets the share of each stream. A stream that needs no more than an equal part of the remaining bytes gets
// all the bytes that it needs.
func divide(streams []Stream, left int64) {
	var order []*Stream
	for i := range streams {
		order = append(order, &streams[i])
	}
	slices.SortStableFunc(order, func(a, b *Stream) int { return cmp.Compare(a.bytes, b.bytes) })
	for i, s := range order {
		s.share = min(s.bytes, left/int64(len(order)-i))
		left -= s.share
	}
}
