package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/owner"
)

// input is one stream: the segments of a directory, or files that are read one after
// another as if they were one.
type input struct {
	name  string
	dir   string // the directory of the segments; empty: the files are not segments
	segs  []segment.Info
	whole bool     // segs are all segments of dir
	only  []string // the streams whose marks are wanted; nil: all
	err   error    // why the segments of dir cannot be listed
	files []file
	bytes int64 // on disk
}

// errStdin is returned for "-": before a log is read, the report needs the order of rotated
// files and the size of the log.
var errStdin = errors.New("a log cannot be read from standard input: save it to a file and give that file (for example kubectl logs POD > gc.log)")

// find returns the streams that a command's arguments name, in that order.
func find(args []string) (all []*input, err error) {
	var bad []error
	for _, arg := range args {
		path := filepath.Clean(arg)
		stat, err := os.Stat(path)
		switch {
		case err != nil && arg == "-":
			bad = append(bad, errStdin)
		case err != nil:
			bad = append(bad, err) // the text of err names the path
		case stat.IsDir():
			found, err := findDir(path)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%s holds no segments and no file with .log in its name", printable.Line(path))
			}
			if err != nil {
				bad = append(bad, err)
			}
			all = append(all, found...)
		case !stat.Mode().IsRegular():
			bad = append(bad, fmt.Errorf("%s is neither a directory nor a regular file: save the log to a file and give that file", printable.Line(path)))
		default: // the user may name a link; no other link is followed
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				bad = append(bad, fmt.Errorf("resolve the file: %w", err))
				continue
			}
			all = addFile(all, filepath.Base(path), real, stat)
		}
	}
	all = withMarks(all)
	for _, in := range all {
		in.sort()
	}
	return all, errors.Join(bad...)
}

// withMarks adds the marks of destinations if only directories of single streams in them were named: without the marks,
// a loss of these streams would not be known.
func withMarks(all []*input) []*input {
	for _, in := range all {
		if !in.whole || in.name == mark.Stream {
			continue
		}
		_, stream, ok := owner.Of(in.dir)
		if !ok || stream == "" {
			continue
		}
		dir := filepath.Join(in.dir, "..", mark.Stream)
		if i := slices.IndexFunc(all, func(in *input) bool { return in.whole && in.dir == dir }); i >= 0 {
			if all[i].only != nil {
				all[i].only = append(all[i].only, stream)
			}
			continue
		}
		if marks := wholeDir(dir); marks.err != nil && !errors.Is(marks.err, fs.ErrNotExist) || len(marks.segs) > 0 {
			marks.only = []string{stream}
			all = append(all, marks)
		}
	}
	return all
}

// wholeDir returns all segments of a directory as one stream.
func wholeDir(dir string) *input {
	segs, err := segment.List(dir)
	in := &input{name: filepath.Base(dir), dir: dir, segs: segs, whole: true, err: err}
	for _, seg := range segs {
		in.bytes += seg.Size
	}
	return in
}

// once removes files that args name more than once, and returns how many it removed.
func once(all []*input) (kept []*input, again uint64) {
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	repeated := func(in *input, path string, size int64) bool {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return false // reading the file reports the error
		}
		key := inode{uint64(st.Dev), st.Ino}
		was := seen[key]
		if seen[key] = true; was {
			again++
			in.bytes -= size
		}
		return was
	}
	for _, whole := range []bool{true, false} { // directories first, so that a file that is also given on its own is kept in its directory
		for _, in := range all {
			if in.whole == whole {
				in.segs = slices.DeleteFunc(in.segs, func(seg segment.Info) bool { return repeated(in, seg.Path, seg.Size) })
				in.files = slices.DeleteFunc(in.files, func(f file) bool { return repeated(in, f.path, f.size) })
			}
		}
	}
	return slices.DeleteFunc(all, func(in *input) bool { return len(in.segs)+len(in.files) == 0 }), again
}

// findDir returns the streams in a directory: its own segments, the segments in its
// subdirectories, or else its log files.
func findDir(path string) ([]*input, error) {
	// The segments of a directory are never opened through a link, but the user may
	// name a link.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("resolve the directory: %w", err)
	}
	names, err := segment.Streams(path)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	var all, unlisted []*input
	for _, dir := range append([]string{""}, names...) {
		in := wholeDir(filepath.Join(path, dir))
		switch {
		case in.err != nil:
			unlisted = append(unlisted, in)
		case len(in.segs) > 0:
			all = append(all, in)
		}
	}
	if len(all) > 0 {
		return append(withoutDetail(all), unlisted...), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	for _, e := range entries {
		stat, err := e.Info()
		if err == nil && stat.Mode().IsRegular() && strings.Contains(e.Name(), ".log") {
			all = addFile(all, e.Name(), filepath.Join(path, e.Name()), stat)
		}
	}
	if len(all) == 0 && len(unlisted) > 0 {
		return nil, unlisted[0].err
	}
	return all, nil
}

// withoutDetail removes streams of withheld lines that were saved. Such a stream covers
// only short times, and would look like a separate JVM.
func withoutDetail(all []*input) []*input {
	names := map[string]bool{}
	for _, in := range all {
		names[in.name] = true
	}
	return slices.DeleteFunc(all, func(in *input) bool {
		of, saved := strings.CutSuffix(in.name, naming.DetailSuffix)
		return saved && names[of]
	})
}

// addFile adds a file to the stream to which its name belongs.
func addFile(all []*input, name, path string, stat fs.FileInfo) []*input {
	dir := filepath.Dir(path)
	if info, ok := segment.ParseName(name); ok {
		info.Path, info.Size, info.ModTime = path, stat.Size(), stat.ModTime()
		in := named(&all, filepath.Base(dir), dir)
		in.segs, in.bytes = append(in.segs, info), in.bytes+stat.Size()
		return all
	}
	in := named(&all, streamName(name), "")
	if len(in.files) > 0 && filepath.Dir(in.files[0].path) != dir {
		in = &input{name: streamName(name)} // another directory has a stream of the same name
		all = append(all, in)
	}
	in.files, in.bytes = append(in.files, file{path: path, size: stat.Size(), mod: stat.ModTime()}), in.bytes+stat.Size()
	return all
}

// named returns the last input with this name and directory. If there is none, named creates
// it.
func named(all *[]*input, name, dir string) *input {
	for _, in := range slices.Backward(*all) {
		if in.name == name && in.dir == dir {
			return in
		}
	}
	in := &input{name: name, dir: dir}
	*all = append(*all, in)
	return in
}

// streamName returns the name of a file without its rotation number and without its
// compression suffix. JDK 8 writes to NAME.0.current.
func streamName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), ".gz")
	if of := naming.StreamOf(name); strings.HasSuffix(name, ".current") && of != name {
		return of
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 && i < len(name)-1 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

// sort sorts the files of a rotated set into the order of their lines. The files
// are compared by their first dates. If any file has no date, all are compared by their first
// uptimes; if any file has no uptime either, by their times of last write. An empty file comes last: the JVM has just
// begun it.
func (in *input) sort() {
	slices.SortStableFunc(in.segs, func(a, b segment.Info) int { return compare(a.Seq, b.Seq) })
	if len(in.files) < 2 {
		return
	}
	dated, timed := true, true
	for i := range in.files {
		f := &in.files[i]
		if f.size == 0 {
			continue
		}
		f.first = f.head()
		dated = dated && !f.first.when.IsZero()
		timed = timed && f.first.timed
	}
	slices.SortStableFunc(in.files, func(a, b file) int {
		switch {
		case a.size == 0 || b.size == 0:
			return compare(min(b.size, 1), min(a.size, 1))
		case dated:
			return a.first.when.Compare(b.first.when)
		case timed:
			return compare(a.first.up, b.first.up)
		}
		return a.mod.Compare(b.mod)
	})
}

func compare[T uint64 | int64 | time.Duration](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// guessed reports whether the order of the files does not follow from dates.
func (in *input) guessed() bool {
	return len(in.files) > 1 && slices.ContainsFunc(in.files, func(f file) bool { return f.size > 0 && f.first.when.IsZero() })
}
