package cat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
)

// Find looks up the arguments: a destination, the directory of a stream, or files. It returns
// the errors in the arguments. Run prints later errors.
func (p *Printer) Find(args []string) (bad []error) {
	defer func() { p.failed = p.failed || len(bad) > 0 }()
	var names []string // streams that exist and do not match
	for _, arg := range args {
		others, err := p.add(arg)
		if err != nil {
			bad = append(bad, err)
		}
		names = append(names, others...)
	}
	if len(bad) > 0 || p.cfg.Stream == "" || slices.ContainsFunc(p.items, func(it item) bool { return len(it.series) > 0 || it.bucket != nil }) {
		return bad
	}
	err := read.Streams(p.cfg.Stream).Unmatched(names)
	if p.cfg.Follow && slices.ContainsFunc(p.items, func(it item) bool { return it.dest != "" }) {
		p.note("%v; waiting for one", err)
		return nil
	}
	return []error{err}
}

// add adds an item for one argument, or adds a file to the last item. It returns the streams
// that the argument names but that do not match.
func (p *Printer) add(arg string) (others []string, err error) {
	if strings.HasPrefix(arg, bucketScheme) {
		return nil, p.addBucket(arg)
	}
	path := filepath.Clean(arg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", printable.Name(arg))
	case err != nil:
		return nil, readError(arg, err)
	case info.IsDir():
		return p.addDir(path)
	case info.Mode().IsRegular():
		return p.addFile(path, info)
	}
	return nil, fmt.Errorf("%s is neither a directory nor a regular file", printable.Name(arg))
}

func (p *Printer) addDir(path string) (others []string, err error) {
	// ullage never opens a stream's directory through a link, but the user may
	// name a link.
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
		return p.addSeries(newSeries(p, streamOf(path), path)), nil
	}
	it := item{dest: path}
	names, err := segment.Streams(path)
	if err != nil {
		return nil, readError(path, err)
	}
	empty := true
	for _, name := range names {
		segs, err := segment.List(filepath.Join(path, name))
		empty = empty && (err == nil && len(segs) == 0 || name == mark.Stream && !p.cfg.wants(name))
		if len(segs) > 0 && !p.cfg.matches(name) {
			others = append(others, name)
		}
	}
	if empty && !p.cfg.Follow {
		if _, err := os.Stat(filepath.Join(path, segment.OwnDir)); err != nil {
			return nil, fmt.Errorf("%s holds no streams and no segments: is it the --dest of 'ullage run'?", printable.Name(path))
		}
		p.note("nothing is persisted in %s yet", printable.Name(path))
	}
	p.refresh(&it)
	p.items = append(p.items, it)
	return others, nil
}

// addFile adds a file that the user named. Consecutive segments of one stream
// form one series.
func (p *Printer) addFile(path string, stat fs.FileInfo) (others []string, err error) {
	info, ours := segment.ParseName(filepath.Base(path))
	dir := filepath.Dir(path)
	if !ours {
		info, dir = segment.Info{Name: filepath.Base(path), Compress: segment.None}, ""
	}
	// The user may name a link; no other link is followed.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, readError(path, err)
	}
	info.Path, info.Size, info.ModTime = real, stat.Size(), stat.ModTime()
	sealed := ours && superseded(dir, info)
	if n := len(p.items); ours && n > 0 && p.items[n-1].dest == "" && len(p.items[n-1].series) > 0 {
		if s := p.items[n-1].series[0]; s.dir == dir && s.files != nil {
			s.addFile(info, sealed)
			return nil, nil
		}
	}
	name := info.Name
	if ours {
		name = streamOf(dir)
	}
	s := newSeries(p, name, dir)
	s.addFile(info, sealed)
	return p.addSeries(s), nil
}

// addSeries adds a series as an item, or returns its name if the name does not match.
func (p *Printer) addSeries(s *series) (others []string) {
	if !p.cfg.matches(s.name) {
		return []string{s.name}
	}
	p.items = append(p.items, item{series: []*series{s}})
	return nil
}

// refresh updates the series of a destination from its directory.
func (p *Printer) refresh(it *item) {
	names, err := segment.Streams(it.dest)
	if err != nil {
		return // the series report that, and the directory may come back
	}
	it.series = slices.DeleteFunc(it.series, func(s *series) bool { return s.gone })
	for _, name := range names {
		at, known := slices.BinarySearchFunc(it.series, name, func(s *series, name string) int { return strings.Compare(s.name, name) })
		if !known && p.cfg.wants(name) {
			it.series = slices.Insert(it.series, at, newSeries(p, name, filepath.Join(it.dest, name)))
		}
	}
}

// directories returns what a follower has to watch, cleaned: the destinations, and the directories of all series that
// can still grow.
func directories(items []item) (dirs []string) {
	for _, item := range items {
		if item.dest != "" {
			dirs = append(dirs, filepath.Clean(item.dest))
		}
		for _, s := range item.series {
			switch {
			case s.over:
			case s.dir != "":
				dirs = append(dirs, filepath.Clean(s.dir))
			case len(s.files) > 0:
				dirs = append(dirs, filepath.Dir(s.files[0].Path))
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// streamOf returns the name of the stream to which a directory belongs.
func streamOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// superseded reports whether a segment has a successor, so that it no longer
// grows.
func superseded(dir string, info segment.Info) bool {
	segs, err := segment.List(dir)
	return err == nil && len(segs) > 0 && segs[len(segs)-1].Seq > info.Seq
}
