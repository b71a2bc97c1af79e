// Package bucket brings the segments that sidecars have uploaded to S3 into a local directory, pod by
// pod, for readers that need files. Names in the keys of a bucket are untrusted: no file is written
// outside the directory.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/segment"
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

var errNone = errors.New("no segment is there for this URL")

// Fetch writes the segments that the URL of a bucket selects below dir, which must be empty. It leaves
// out segments all of whose lines were persisted before since, but no marks and no crash reports. It
// returns the directory of each container, which has a directory for each of its streams. If a
// segment cannot be read to its end, Fetch fails.
func Fetch(ctx context.Context, text string, since time.Time, dir string) (containers []string, err error) {
	r, err := s3.OpenBucket(text)
	if err != nil {
		return nil, err
	}
	f := fetcher{reader: r, dir: dir, since: since}
	for o, err := range r.Objects(ctx) {
		if err != nil {
			return nil, err
		}
		if err := f.next(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	if len(f.containers) == 0 {
		return nil, errNone
	}
	return f.containers, nil
}

// fetcher holds one object back: if the next segment begins before since, the object held back is not
// wanted.
type fetcher struct {
	reader     *s3.Reader
	dir        string
	since      time.Time
	before     *s3.Object // nil: none is held back
	containers []string
}

func (f *fetcher) next(ctx context.Context, o s3.Object) error {
	if f.before == nil || !sameContainer(*f.before, o) {
		if err := f.end(ctx); err != nil {
			return err
		}
		f.containers = append(f.containers, filepath.Join(f.dir, strconv.Itoa(len(f.containers))))
	} else if !f.over(o) {
		if err := f.fetch(ctx, *f.before); err != nil {
			return err
		}
	}
	f.before = &o
	return nil
}

// end fetches the object that is held back.
func (f *fetcher) end(ctx context.Context) error {
	if f.before == nil {
		return nil
	}
	o := *f.before
	f.before = nil
	return f.fetch(ctx, o)
}

// over reports whether all lines of the object held back were persisted before since.
func (f *fetcher) over(next s3.Object) bool {
	own := f.before.Segment
	return f.before.Stream == next.Stream && next.Stream != mark.Stream && !next.Segment.Start.Before(own.Start) && next.Segment.Start.Before(f.since)
}

func sameContainer(a, b s3.Object) bool {
	return a.Namespace == b.Namespace && a.Pod == b.Pod && a.Container == b.Container
}

// fetch downloads one segment. The time of the upload is the time of the file: no line in it is newer.
func (f *fetcher) fetch(ctx context.Context, o s3.Object) error {
	if err := segment.ValidStream(o.Stream); err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	dir := filepath.Join(f.containers[len(f.containers)-1], o.Stream)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for the segments: %w", err)
	}
	body, err := f.reader.Open(ctx, o)
	if err != nil {
		return err
	}
	defer body.Close()
	path := filepath.Join(dir, o.Segment.Name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make a file for a segment: %w", err)
	}
	n, err := io.Copy(file, io.LimitReader(body, o.Segment.Size))
	if err == nil && n < o.Segment.Size {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("read %s: %w", o.Key, err)
	}
	if uploaded := o.Segment.ModTime; !uploaded.IsZero() {
		if err := os.Chtimes(path, uploaded, uploaded); err != nil {
			return fmt.Errorf("set the time of a segment: %w", err)
		}
	}
	return nil
}
