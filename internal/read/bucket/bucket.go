// Package bucket brings the segments that sidecars have uploaded to S3 into a local directory, pod by
// pod, for readers that need files. Names in the keys of a bucket are untrusted: no file is written
// outside the directory.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/sink/s3"
)

// Scheme begins an argument that names a bucket.
const Scheme = "s3://"

// Pod is a pod with segments in a bucket.
type Pod struct {
	Name string // with the namespace: shop/web-0
	URL  string // selects only this pod
}

// Pods lists the pods that the URL of a bucket selects, in the order of their names. It reads the keys
// of the bucket and no segment.
func Pods(ctx context.Context, text string) (all []Pod, err error) {
	r, err := s3.OpenBucket(text)
	if err != nil {
		return nil, err
	}
	for o, err := range r.Objects(ctx) {
		if err != nil {
			return nil, err
		}
		if name := o.Namespace + "/" + o.Pod; len(all) == 0 || all[len(all)-1].Name != name {
			one, err := url.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("parse the URL: %w", err)
			}
			query := one.Query()
			query.Set("namespace", o.Namespace)
			query.Set("pod", o.Pod)
			one.RawQuery = query.Encode()
			all = append(all, Pod{Name: name, URL: one.String()})
		}
	}
	if len(all) == 0 {
		return nil, errNone
	}
	return all, nil
}

var errNone = errors.New("no segments match this URL")

// ErrNoRoom is the error of [Fetch] if the segments are larger than the free space of the file system.
var ErrNoRoom = errors.New("no room for the segments of a bucket")

// Fetch writes the segments that the URL of a bucket selects below dir, which must be empty. Except for marks
// and crash reports, it leaves out segments all of whose lines are known to be outside the window. It
// returns the directory of each container, which has a directory for each of its streams. If a
// segment cannot be read to its end, or if the file system of dir has no room for all segments, Fetch fails.
// Fetch calls tell, unless it is nil, before each segment.
func Fetch(ctx context.Context, text string, window clock.Window, dir string, tell func(done, total int64)) (containers []string, err error) {
	r, err := s3.OpenBucket(text)
	if err != nil {
		return nil, err
	}
	p := read.Progress{Tell: tell}
	if p.Total, err = size(ctx, r, window); err != nil {
		return nil, err
	}
	if err := checkRoom(dir, p.Total); err != nil {
		return nil, err
	}
	var before s3.Object
	var highest uint64 // the highest number of a fetched segment of this stream
	over := false      // the segments with higher numbers are later than the window
	for o, err := range wanted(ctx, r, window.Since, always) {
		if err != nil {
			return nil, err
		}
		if containers == nil || !sameContainer(before, o) {
			containers = append(containers, filepath.Join(dir, strconv.Itoa(len(containers))))
		}
		if !sameStream(before, o) {
			highest, over = 0, false
		}
		expected := expects(before, o, window.Until)
		if before = o; over && o.Segment.Seq > highest {
			continue
		}
		if !expected {
			if err := checkRoom(dir, o.Segment.Size); err != nil {
				return nil, err
			}
			p.Total += max(0, o.Segment.Size)
		}
		p.At(0)
		p.Next(o.Segment.Size)
		if o.Segment.Path, err = fetch(ctx, r, o, containers[len(containers)-1]); err != nil {
			return nil, err
		}
		highest = max(highest, o.Segment.Seq)
		if later(o, window.Until) {
			if over, err = past(o.Segment, window.Until); err != nil {
				return nil, err
			}
		}
	}
	if containers == nil {
		return nil, errNone
	}
	return containers, nil
}

// ErrMarks is the error of [FetchMarks] if there are no marks, or too many.
var ErrMarks = errors.New("no marks, or too many")

// maxMarks bounds the marks of a pod, in bytes of the bucket: a day has some 100 KiB.
const maxMarks = 8 << 20

// FetchMarks is like [Fetch], but writes only marks: all marks of the window, and some from the time around it. logs
// maps the directory of each container with a JVM's log to two times. They are when the first and the last of the
// logs' segments that may have lines of the window were begun.
func FetchMarks(ctx context.Context, text string, window clock.Window, dir string) (containers []string, logs map[string]clock.Window, err error) {
	r, err := s3.OpenBucket(text)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRoom(dir, maxMarks); err != nil {
		return nil, nil, err
	}
	logs = map[string]clock.Window{}
	var before s3.Object
	n, left := -1, int64(maxMarks)
	for o, err := range wanted(ctx, r, window.Since, func(string) bool { return false }) {
		if err != nil {
			return nil, nil, err
		}
		if n < 0 || !sameContainer(before, o) {
			n++
		}
		before = o
		container := filepath.Join(dir, strconv.Itoa(n))
		switch {
		case o.Stream == mark.Stream && !window.Until.IsZero() && o.Segment.Start.After(window.Until.Add(late)):
		case o.Stream == mark.Stream:
			if left -= max(0, o.Segment.Size); left < 0 {
				return nil, nil, fmt.Errorf("%w: more than %s", ErrMarks, printable.Bytes(maxMarks))
			}
			if len(containers) == 0 || containers[len(containers)-1] != container {
				containers = append(containers, container)
			}
			if _, err := fetch(ctx, r, o, container); err != nil {
				return nil, nil, err
			}
		case naming.KindOf(o.Stream) == naming.KindLog && !naming.IsEvents(o.Stream):
			logs[container] = around(logs[container], o.Segment.Start)
		}
	}
	if len(containers) == 0 {
		return nil, nil, ErrMarks
	}
	return containers, logs, nil
}

// around returns the window, extended to include one more time.
func around(w clock.Window, at time.Time) clock.Window {
	if w.Since.IsZero() || at.Before(w.Since) {
		w.Since = at
	}
	if at.After(w.Until) {
		w.Until = at
	}
	return w
}

// late is how long after the window a mark about it may be written.
const late = pause.FiguresTime + time.Minute

// size returns the total size, in bytes, of the segments that are expected to be fetched.
func size(ctx context.Context, r *s3.Reader, window clock.Window) (sum int64, err error) {
	var before s3.Object
	for o, err := range wanted(ctx, r, window.Since, always) {
		if err != nil {
			return 0, err
		}
		// Sizes come from the server and are not trusted: they must neither lower the sum nor overflow it.
		if expects(before, o, window.Until) {
			sum += min(max(0, o.Segment.Size), math.MaxInt64-sum)
		}
		before = o
	}
	return sum, nil
}

// expects reports whether a segment is expected to be fetched, given the object before it. Of a stream's segments
// that were begun after the window, the first is still fetched: its dates usually show that the rest is later.
func expects(before, o s3.Object, until time.Time) bool {
	return !sameStream(before, o) || !later(before, until)
}

// later reports whether a segment was begun after the window, so that the rest of its stream may be later. An earlier
// line may still be in it, because a sidecar may find lines long after they were written.
func later(o s3.Object, until time.Time) bool {
	return !until.IsZero() && o.Segment.Start.After(until) && !always(o.Stream)
}

// always reports whether all segments of a stream are fetched, whatever the window is.
func always(stream string) bool {
	return stream == mark.Stream || naming.KindOf(stream) == naming.KindCrash
}

// past reports whether the dates in a segment show that the rest of the stream is later than until.
// A line without a date shows nothing: earlier segments may show when it was written.
func past(seg segment.Info, until time.Time) (bool, error) {
	dates := clock.Dating{Class: format.New(format.UL), Window: clock.Window{Until: until}, Timed: true}
	source := read.Source{Dates: &dates}
	defer source.Close()
	if err := source.Follow(filepath.Dir(seg.Path), []segment.Info{seg}, true, segment.FollowOptions{Once: true}); err != nil {
		return false, fmt.Errorf("look for the end of the window: %w", err)
	}
	for source.Read() == nil {
		for p := range source.Lines.Heads() {
			l := dates.Line(p.Head(), nil)
			if l.Gap == nil && l.Kind != ul.Continuation && (l.Estimated || !l.Time.After(until.Add(clock.PastSlack))) {
				return false, nil
			}
		}
		if dates.Over() {
			return true, nil
		}
	}
	return false, nil
}

// checkRoom fails if the file system of dir has fewer than need bytes free. It is called before segments are fetched,
// because fetching them may take hours and fill a file system that others use.
func checkRoom(dir string, need int64) error {
	var st unix.Statfs_t
	if err := kernel.Retry(func() error { return unix.Statfs(dir, &st) }); err != nil {
		return fmt.Errorf("check the free space of %s: %w", dir, err)
	}
	if free := int64(st.Bavail) * int64(st.Frsize); need > free {
		return fmt.Errorf("%w: the segments take %s, and %s has %s free", ErrNoRoom, printable.Bytes(need), dir, printable.Bytes(free))
	}
	return nil
}

// wanted lists the objects of a bucket in order, without segments all of whose lines were persisted before since. It
// holds one object back: if the next segment begins before since, the object held back is not wanted. If whole
// returns true for a stream, all of its objects are wanted. It numbers the segments of each stream so that they can be
// in one directory, see numbers.
func wanted(ctx context.Context, r *s3.Reader, since time.Time, whole func(stream string) bool) iter.Seq2[s3.Object, error] {
	return func(yield func(s3.Object, error) bool) {
		var held *s3.Object // nil: none is held back
		var n numbers
		for o, err := range r.Objects(ctx) {
			if err != nil {
				yield(o, err)
				return
			}
			if held == nil || !sameStream(*held, o) {
				n = numbers{}
			}
			o.Segment = n.next(o.Segment)
			if held != nil && (whole(held.Stream) || !over(*held, o, since)) && !yield(*held, nil) {
				return
			}
			held = &o
		}
		if held != nil {
			yield(*held, nil)
		}
	}
}

// numbers gives each segment of a stream a number of its own. A pod of a StatefulSet has the name of the pod before it.
// If its destination ended with that pod, its segments have the same numbers again.
type numbers struct {
	seen map[uint64]bool // the numbers of this pod, as they are in the bucket
	base uint64          // the highest number of the pods before it
	top  uint64          // the highest number so far
}

// next returns the segment with its new number. Within a pod, segments keep their order: if the clock was set back,
// numbers say which of two segments is older, and times do not.
func (n *numbers) next(seg segment.Info) segment.Info {
	if n.seen[seg.Seq] {
		n.seen, n.base = nil, n.top
	}
	if n.seen == nil {
		n.seen = map[uint64]bool{}
	}
	n.seen[seg.Seq] = true
	if n.base > 0 {
		seg.Seq += n.base
		seg.Name = segment.FileName(seg.Start, seg.Seq, seg.Compress)
	}
	n.top = max(n.top, seg.Seq)
	return seg
}

// over reports whether all lines of a segment were persisted before since, given the object after it. After the clock
// was set back, that object may be the older of the two.
func over(o, next s3.Object, since time.Time) bool {
	return sameStream(o, next) && next.Segment.Seq > o.Segment.Seq && next.Segment.Start.Before(since)
}

func sameContainer(a, b s3.Object) bool {
	return a.Namespace == b.Namespace && a.Pod == b.Pod && a.Container == b.Container
}

func sameStream(a, b s3.Object) bool { return sameContainer(a, b) && a.Stream == b.Stream }

// fetch downloads one segment into the directory of its container and returns the path of its file. It sets the file's
// modification time to the time of the upload, if that is known: no line in the file is newer.
func fetch(ctx context.Context, r *s3.Reader, o s3.Object, container string) (path string, err error) {
	if err := segment.ValidStream(o.Stream); err != nil {
		return "", fmt.Errorf("%s: %w", o.Key, err)
	}
	dir := filepath.Join(container, o.Stream)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for the segments: %w", err)
	}
	body, err := r.Open(ctx, o)
	if err != nil {
		return "", err
	}
	defer body.Close()
	path = filepath.Join(dir, o.Segment.Name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make a file for a segment: %w", err)
	}
	n, err := io.Copy(file, io.LimitReader(body, o.Segment.Size))
	if err == nil && n < o.Segment.Size {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("read %s: %w", o.Key, err)
	}
	if uploaded := o.Segment.ModTime; !uploaded.IsZero() {
		if err := os.Chtimes(path, uploaded, uploaded); err != nil {
			return "", fmt.Errorf("set the time of a segment: %w", err)
		}
	}
	return path, nil
}
