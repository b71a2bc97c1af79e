package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/segment"
)

// maxNamed bounds how many streams one message names.
const maxNamed = 20

// find makes items of the arguments. It returns what is wrong with any of them.
func (c *cat) find(args []string) []error {
	var bad []error
	var names []string // of streams that do not match
	for _, arg := range args {
		others, err := c.add(arg)
		if err != nil {
			bad = append(bad, err)
		}
		names = append(names, others...)
	}
	if len(bad) > 0 || c.cfg.stream == "" || slices.ContainsFunc(c.items, func(item catItem) bool { return len(item.series) > 0 }) {
		return bad
	}
	err := fmt.Errorf("no stream matches %s: %s", catName(c.cfg.stream), thereIs(names))
	if c.cfg.follow && slices.ContainsFunc(c.items, func(item catItem) bool { return item.dest != "" }) {
		c.note("%v; waiting for one", err)
		return nil
	}
	return []error{err}
}

// thereIs lists the streams that exist.
func thereIs(names []string) string {
	if len(names) == 0 {
		return "there are no streams"
	}
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = catName(name)
	}
	return "there are " + strings.Join(quoted, ", ") + more
}

// add makes an item of one argument, or adds a file to the last one. It
// returns the streams that it stands for and that do not match.
func (c *cat) add(arg string) (others []string, err error) {
	path := filepath.Clean(arg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", catName(arg))
	case err != nil:
		return nil, readError(arg, err)
	case info.IsDir():
		return c.addDir(path)
	case info.Mode().IsRegular():
		return c.addFile(path, info)
	}
	return nil, fmt.Errorf("%s is neither a directory nor a regular file", catName(arg))
}

func (c *cat) addDir(path string) (others []string, err error) {
	// A stream's directory is never opened through a link, but the user may
	// name one.
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, readError(path, err)
		}
	}
	segs, err := segment.List(path)
	if err != nil {
		return nil, readError(path, err)
	}
	if len(segs) > 0 {
		return c.addSeries(newCatSeries(c, streamOf(path), path)), nil
	}
	item := catItem{dest: path}
	names, err := segment.Streams(path)
	if err != nil {
		return nil, readError(path, err)
	}
	empty := true
	for _, name := range names {
		segs, err := segment.List(filepath.Join(path, name))
		empty = empty && err == nil && len(segs) == 0
		if len(segs) > 0 && !c.cfg.matches(name) {
			others = append(others, name)
		}
	}
	if empty && !c.cfg.follow {
		if _, err := os.Stat(filepath.Join(path, ".ullage")); err != nil {
			return nil, fmt.Errorf("%s holds no streams and no segments: is it the --dest of 'ullage run'?", catName(path))
		}
		c.note("nothing is persisted in %s yet", catName(path))
	}
	c.refresh(&item)
	c.items = append(c.items, item)
	return others, nil
}

// addFile adds a file that was named by hand. Segments of one stream that
// follow each other are one series.
func (c *cat) addFile(path string, stat fs.FileInfo) (others []string, err error) {
	info, ours := segment.ParseName(filepath.Base(path))
	dir := filepath.Dir(path)
	if !ours {
		info, dir = segment.Info{Name: filepath.Base(path), Compress: segment.None}, ""
	}
	info.Path, info.Size, info.ModTime = path, stat.Size(), stat.ModTime()
	sealed := ours && superseded(dir, info)
	if n := len(c.items); ours && n > 0 && c.items[n-1].dest == "" {
		if s := c.items[n-1].series[0]; s.dir == dir && s.files != nil {
			s.addFile(info, sealed)
			return nil, nil
		}
	}
	name := info.Name
	if ours {
		name = streamOf(dir)
	}
	s := newCatSeries(c, name, dir)
	s.addFile(info, sealed)
	return c.addSeries(s), nil
}

// addSeries adds a series as an item, or returns its name if it does not match.
func (c *cat) addSeries(s *catSeries) (others []string) {
	if !c.cfg.matches(s.name) {
		return []string{s.name}
	}
	c.items = append(c.items, catItem{series: []*catSeries{s}})
	return nil
}

// refresh brings the series of a destination in step with its directory.
func (c *cat) refresh(item *catItem) {
	names, err := segment.Streams(item.dest)
	if err != nil {
		return // the series notice, and it may come back
	}
	item.series = slices.DeleteFunc(item.series, func(s *catSeries) bool { return s.gone })
	for _, name := range names {
		at, known := slices.BinarySearchFunc(item.series, name, func(s *catSeries, name string) int { return strings.Compare(s.name, name) })
		if !known && c.cfg.matches(name) {
			item.series = slices.Insert(item.series, at, newCatSeries(c, name, filepath.Join(item.dest, name)))
		}
	}
}

// streamOf returns the name of the stream whose directory this is.
func streamOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// superseded says that a segment has a successor, so that it grows no more.
func superseded(dir string, info segment.Info) bool {
	segs, err := segment.List(dir)
	return err == nil && len(segs) > 0 && segs[len(segs)-1].Seq > info.Seq
}

// readError names a path in an error about it once, in the way of all messages.
func readError(path string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", catName(path), reason(err))
}

// reason returns what went wrong without the path that it went wrong with.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
