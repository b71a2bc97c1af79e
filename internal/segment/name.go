package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/untrusted"
)

const (
	timeLayout   = "20060102T150405.000Z"
	maxSeqDigits = 18 // so that a sequence number plus one never overflows
	maxStream    = 200
)

// LostFound is a directory of ext4 in the root of a volume. Only root may read it.
const LostFound = "lost+found"

// PageBytes is the least space that the store counts for a segment: a page of memory, or a
// block on disk.
const PageBytes = 4 << 10

// Info describes one segment by its name and its inode.
type Info struct {
	Stream   string // the name of its directory
	Path     string
	Name     string
	Seq      uint64 // orders the segments of a stream
	Start    time.Time
	Compress Compression
	Size     int64 // on disk, in compressed bytes
	Disk     int64 // the space that it takes in the file system, in whole blocks
	ModTime  time.Time
}

// ValidStream returns why a name cannot be the directory of a stream, or nil.
func ValidStream(name string) error {
	switch {
	case name == "":
		return errors.New("stream name is empty")
	case len(name) > maxStream:
		return fmt.Errorf("stream name has %d bytes, at most %d are allowed", len(name), maxStream)
	case !utf8.ValidString(name):
		return fmt.Errorf("stream name %q is not UTF-8", name)
	case name[0] == '.':
		return fmt.Errorf("stream name %q begins with a dot", name)
	case strings.ContainsRune(name, '/'):
		return fmt.Errorf("stream name %q contains a slash", name)
	case name == LostFound:
		return fmt.Errorf("stream name %q is reserved by the file system", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("stream name %q contains a control character", name)
	}
	return nil
}

// OnDisk returns how much space a segment takes in the file system: at least a page, even if
// its inode holds its bytes, or if the file system has not allocated its blocks yet.
func OnDisk(st *unix.Stat_t) int64 { return max(st.Blocks*512, PageBytes) }

// FileName is the inverse of ParseName.
func FileName(start time.Time, seq uint64, how Compression) string {
	return fmt.Sprintf("%s-%06d%s", start.UTC().Format(timeLayout), seq, compressions[how].suffix)
}

// ParseName reads Name, Seq, Start and Compress from a segment's file name. It
// returns false for every name that this package does not write.
func ParseName(name string) (Info, bool) {
	for how := range compressions {
		stem, ok := strings.CutSuffix(name, compressions[how].suffix)
		if !ok {
			continue
		}
		stamp, digits, ok := strings.Cut(stem, "-")
		if !ok || len(digits) > maxSeqDigits {
			return Info{}, false
		}
		start, timeErr := time.Parse(timeLayout, stamp)
		seq, seqErr := strconv.ParseUint(digits, 10, 64)
		info := Info{Name: name, Seq: seq, Start: start, Compress: Compression(how)}
		// Formatting the parsed values must give the same name, so that no sign, extra zero or other
		// fraction is accepted.
		ok = timeErr == nil && seqErr == nil && FileName(start, seq, info.Compress) == name
		return info, ok
	}
	return Info{}, false
}

// compareInfo orders the segments of one stream.
func compareInfo(a, b Info) int {
	if a.Seq != b.Seq {
		if a.Seq < b.Seq {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// Each calls fn for every segment in dir, in no particular order, and holds only a batch of
// names in memory. It leaves out links, directories and names that are not those of segments.
// It reads dir through its descriptor, even if another directory now has its path.
func Each(dir *os.File, fn func(Info) error) error {
	stream := filepath.Base(dir.Name())
	return untrusted.EachEntry(dir.Readdirnames, func(name string) error {
		info, ok := ParseName(name)
		if !ok {
			return nil
		}
		var st unix.Stat_t
		info.Stream, info.Path = stream, filepath.Join(dir.Name(), name)
		err := kernel.Retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if err == unix.ENOENT || err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil // deleted since, or not a segment
		}
		if err != nil {
			return &fs.PathError{Op: "stat", Path: info.Path, Err: err}
		}
		info.Size, info.Disk, info.ModTime = st.Size, OnDisk(&st), time.Unix(st.Mtim.Unix())
		return fn(info)
	})
}

// Newest returns the last n segments in a stream's directory, in their order.
func Newest(dir *os.File, n int) ([]Info, error) {
	var found []Info
	shrink := func() {
		slices.SortFunc(found, compareInfo)
		if len(found) > n {
			found = slices.Delete(found, 0, len(found)-n)
		}
	}
	err := Each(dir, func(info Info) error {
		found = append(found, info)
		if n < math.MaxInt/2 && len(found) >= 2*n {
			shrink()
		}
		return nil
	})
	shrink()
	return found, err
}

// List returns the segments in the directory of one stream, in the order in
// which they were written. Other files are ignored.
func List(dir string) ([]Info, error) {
	open, err := untrusted.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	defer open.Close()
	found, err := Newest(open, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return found, nil
}

// EachStream calls fn with the name of every directory in dir, a destination, that
// may be the directory of a stream.
func EachStream(dir *os.File, fn func(name string) error) error {
	return untrusted.EachEntry(dir.ReadDir, func(entry fs.DirEntry) error {
		if !entry.IsDir() || ValidStream(entry.Name()) != nil {
			return nil
		}
		return fn(entry.Name())
	})
}

// Streams returns the names of the directories in dest that may belong to streams,
// sorted. These directories need not hold segments or be readable.
func Streams(dest string) ([]string, error) {
	dir, err := os.Open(dest)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	defer dir.Close()
	var names []string
	err = EachStream(dir, func(name string) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	slices.Sort(names)
	return names, nil
}
