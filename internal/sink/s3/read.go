package s3

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

// Object is a segment in a bucket.
type Object struct {
	Namespace, Pod, Container, Stream string

	Segment segment.Info // from the name, the size and the last change of the object
	Key     string
}

// Reader reads the segments that sidecars have uploaded. Create one with [OpenBucket].
type Reader struct {
	bucket         *Bucket
	namespace, pod string // empty: all
}

// OpenBucket returns a Reader for a URL like that of --sink. Two more options, namespace and
// pod, select the pods whose segments are read.
func OpenBucket(text string) (*Reader, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return nil, fmt.Errorf("use s3://BUCKET/PREFIX?endpoint=..., with the credentials in the environment or a file")
	}
	o := address.NewOptions(u.Query())
	r := &Reader{namespace: o.Text("namespace", "", "only segments of this namespace"), pod: o.Text("pod", "", "only segments of this pod")}
	o.Text("name", "", "an option of the sink, which reading does not need")
	r.bucket, err = Parse(u, &o)
	return r, err
}

// Objects returns the segments, by namespace, pod, container and stream, and within a stream in the
// order in which they were written. It ends with the first error. S3 lists keys in their order. A
// list in another order is an error, because it might have no end.
func (r *Reader) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // otherwise, the listing would continue after the caller has stopped
		defer cancel()
		prefix := r.bucket.join(logFolder, "")
		if r.namespace != "" {
			prefix += part("namespace", r.namespace) + "/"
			if r.pod != "" {
				prefix += part("pod", r.pod) + "/"
			}
		}
		last := ""
		for info := range r.bucket.client.Client.ListObjects(ctx, r.bucket.Name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			if info.Err != nil {
				yield(Object{}, r.bucket.explain("list", prefix, info.Err))
				return
			}
			if info.Key <= last {
				yield(Object{}, fmt.Errorf("list s3://%s/%s: the server does not list the keys in order", r.bucket.Name, prefix))
				return
			}
			last = info.Key
			o, ok := r.bucket.parseKey(info.Key)
			if !ok || r.pod != "" && o.Pod != r.pod {
				continue // no segment of the selected pods
			}
			o.Segment.Size, o.Segment.ModTime = info.Size, info.LastModified
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Open returns the bytes of a segment in the bucket.
func (r *Reader) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	body, _, _, err := r.bucket.client.GetObject(ctx, r.bucket.Name, o.Key, minio.GetObjectOptions{})
	if err != nil {
		return nil, r.bucket.explain("read", o.Key, err)
	}
	return body, nil
}

// parseKey is the inverse of key. It accepts only keys that an upload can have created.
func (b *Bucket) parseKey(key string) (o Object, ok bool) {
	rest, ok := strings.CutPrefix(key, b.join(logFolder, ""))
	if !ok {
		return o, false
	}
	parts := strings.Split(rest, "/")
	names := [...]string{"namespace", "pod", "container", "stream", "date"}
	if len(parts) != len(names)+1 {
		return o, false
	}
	var values [len(names)]string
	for i, name := range names {
		value, found := strings.CutPrefix(parts[i], name+"=")
		text, err := url.PathUnescape(value)
		if !found || err != nil {
			return o, false
		}
		values[i] = text
	}
	o.Segment, ok = segment.ParseName(parts[len(names)])
	o.Namespace, o.Pod, o.Container, o.Stream, o.Key = values[0], values[1], values[2], values[3], key
	o.Segment.Stream = o.Stream
	return o, ok && key == b.key(sink.Pod{Namespace: o.Namespace, Name: o.Pod, Container: o.Container}, o.Stream, o.Segment)
}
