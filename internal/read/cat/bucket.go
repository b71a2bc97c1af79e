package cat

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/sink/s3"
)

// bucketScheme begins an argument that names a bucket.
const bucketScheme = "s3://"

// progressEvery is how often the progress of reading a bucket is shown on a terminal.
const progressEvery = time.Second

// addBucket adds an item for a bucket.
func (p *Printer) addBucket(arg string) error {
	switch {
	case p.cfg.Follow:
		return errors.New("a bucket cannot be followed, because it receives whole segments: leave out --follow")
	case p.cfg.Tail > 0:
		return errors.New("the last lines of a bucket cannot be found without reading all of it: use --since instead of --tail")
	}
	r, err := s3.OpenBucket(arg)
	if err != nil {
		return err
	}
	p.items = append(p.items, item{bucket: r})
	return nil
}

// bucketPass prints the segments of a bucket, one stream after the other. It holds back one
// object at a time: if the next segment begins before --since, that object is not wanted.
type bucketPass struct {
	p       *Printer
	reader  *s3.Reader
	series  *series // the stream that is being printed; nil: none yet
	of      s3.Object
	before  *s3.Object // the object held back
	objects int
	bytes   int64
	shown   time.Time
}

// printBucket prints every wanted line in a bucket.
func (p *Printer) printBucket(ctx context.Context, r *s3.Reader) error {
	b := &bucketPass{p: p, reader: r, shown: time.Now()}
	for o, err := range r.Objects(ctx) {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p.complain("%v", err)
			break
		}
		if !p.cfg.wants(o.Stream) {
			continue
		}
		if b.before != nil && !b.over(o) {
			if err := b.print(ctx, *b.before); err != nil {
				return err
			}
		}
		b.before = &o
	}
	if b.before != nil {
		if err := b.print(ctx, *b.before); err != nil {
			return err
		}
	}
	if b.objects == 0 && !p.failed {
		p.complain("no segments match this URL, --stream and --since")
	}
	return b.end()
}

// over reports whether all lines of the object that is held back were persisted before Since.
// They were if next belongs to the same stream, has a higher number, and was created before Since. After the clock was
// set back, next may be the older of the two; then its number is lower.
func (b *bucketPass) over(next s3.Object) bool {
	return sameStream(*b.before, next) && next.Segment.Seq > b.before.Segment.Seq && next.Segment.Start.Before(b.p.cfg.Since)
}

func sameStream(a, b s3.Object) bool {
	return a.Namespace == b.Namespace && a.Pod == b.Pod && a.Container == b.Container && a.Stream == b.Stream
}

// newBucketSeries returns a series for the stream of an object. Its name includes the container; its
// format is that of the stream.
func newBucketSeries(p *Printer, o s3.Object) *series {
	s := newSeries(p, o.Stream, "")
	s.name = strings.Join([]string{o.Namespace, o.Pod, o.Container, o.Stream}, "/")
	return s
}

// end ends the last line of a stream.
func (b *bucketPass) end() error {
	if b.series == nil {
		return nil
	}
	b.series.source.Lines.End()
	return b.series.drain()
}

// print prints one object, unless all its lines are after the window.
func (b *bucketPass) print(ctx context.Context, o s3.Object) error {
	if b.series == nil || !sameStream(b.of, o) {
		if err := b.end(); err != nil {
			return err
		}
		b.series, b.of = newBucketSeries(b.p, o), o
	}
	b.progress(o)
	if b.series.pick.dates.Over() {
		return nil
	}
	source := &b.series.source
	body, err := b.reader.Open(ctx, o)
	if err == nil {
		err = source.Decode(body, o.Key, o.Segment.Compress, o.Segment)
	}
	if err != nil {
		return b.lost(ctx, o, 0, err)
	}
	defer source.Close()
	for !b.series.pick.dates.Over() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var loss *read.Loss
		if err := source.Read(); errors.As(err, &loss) {
			return b.lost(ctx, o, loss.From, loss.Err)
		} else if err != nil {
			return nil
		}
		if err := b.series.drain(); err != nil {
			return err
		}
	}
	return nil
}

// lost reports that the rest of an object cannot be read. Printing continues with the next
// object, on a new line.
func (b *bucketPass) lost(ctx context.Context, o s3.Object, done int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.p.complain("%s: cannot be read any further; %d bytes were printed: %v", printable.Name(o.Key), done, err)
	return b.end()
}

// progress shows the progress on a terminal.
func (b *bucketPass) progress(o s3.Object) {
	b.objects++
	if b.p.progress && time.Since(b.shown) > progressEvery {
		b.shown = time.Now()
		b.p.note("%d objects, %d MiB read; now %s", b.objects-1, b.bytes>>20, strings.Join([]string{o.Namespace, o.Pod, o.Stream}, "/"))
	}
	b.bytes += o.Segment.Size
}
