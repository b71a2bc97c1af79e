package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/sink"
)

// Kind creates sinks that upload segments.
func Kind() sink.Kind {
	return sink.Kind{Segments: true, Open: func(t sink.Target) (sink.Sink, error) {
		bucket, err := Parse(t.URL, &t.Options)
		if err != nil {
			return nil, err
		}
		return &uploader{bucket: bucket, pod: t.Pod, formats: t.Formats, days: days{bucket: bucket, pod: t.Pod}}, nil
	}}
}

// uploader is the sink.
type uploader struct {
	bucket  *Bucket
	pod     sink.Pod
	formats format.Rules
	days    days
}

// Deliver implements [sink.Sink]: the segment first, and then the index that names it.
func (u *uploader) Deliver(ctx context.Context, b *sink.Batch) error {
	key := u.bucket.key(u.pod, b.Stream, b.Segment)
	entry, err := u.send(ctx, key, b)
	if err != nil {
		return err
	}
	return u.days.add(ctx, b.Segment.Start.UTC().Format(dayLayout), entry)
}

// send uploads a segment, whose file does not change any more, and returns its entry. If the
// writer has left no sum of the segment, send decodes the segment during the upload.
func (u *uploader) send(ctx context.Context, key string, b *sink.Batch) (entry Entry, err error) {
	f, err := segment.OpenFile(b.Segment)
	if err != nil {
		return entry, err
	}
	defer f.Close()
	size, crc, err := segment.Checksum(f)
	if err != nil {
		return entry, err
	}
	sums := index.Read(filepath.Dir(b.Segment.Path))
	if s, ok := sums.Of(b.Segment.Seq, b.Segment.Start, f); ok && s.Size == size && s.CRC == crc {
		return entryOf(key, b, s.Sum), u.bucket.uploadFile(ctx, key, f, size, crc)
	}
	both, joint := errgroup.WithContext(ctx)
	both.Go(func() error { return u.bucket.uploadFile(joint, key, f, size, crc) })
	both.Go(func() (err error) { entry, err = describe(key, b, u.formats.Classifier(b.Stream)); return err })
	return entry, both.Wait()
}

// Close implements [sink.Sink].
func (u *uploader) Close() error { return nil }

// uploadFile uploads a file as one object, with one request or in parts.
func (b *Bucket) uploadFile(ctx context.Context, key string, f *os.File, size int64, crc uint32) error {
	whole := io.NewSectionReader(f, 0, size)
	if size > int64(b.part) {
		return b.uploadParts(ctx, key, whole, f.Name())
	}
	return b.upload(ctx, key, whole, size, crc, typeOf(f.Name()))
}

// upload creates one object with one request.
func (b *Bucket) upload(ctx context.Context, key string, from io.Reader, size int64, crc uint32, contentType string) error {
	opts := b.options(contentType)
	opts.UserMetadata = map[string]string{"x-amz-checksum-crc32c": base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))}
	opts.DisableContentSha256 = true // the checksum protects the content, and TLS the connection
	info, err := b.client.PutObject(ctx, b.Name, key, from, size, "", "", opts)
	if err != nil {
		return b.explain("upload", key, err)
	}
	return b.stored(key, info)
}

// stored returns an error if the answer to an upload has no ETag. Every object store sends an
// ETag, but a proxy or a web server may answer 200 to anything.
func (b *Bucket) stored(key string, info minio.UploadInfo) error {
	if info.ETag == "" {
		return fmt.Errorf("upload s3://%s/%s: the answer has no ETag, so it is not from S3", b.Name, key)
	}
	return nil
}

// uploadParts uploads a file as one object in parts, one after the other, so that only one part
// is in flight.
func (b *Bucket) uploadParts(ctx context.Context, key string, from *io.SectionReader, name string) error {
	opts := b.options(typeOf(name))
	opts.PartSize, opts.NumThreads = uint64(b.part), 1
	if b.client.EndpointURL().Scheme == "https" {
		opts.Checksum = minio.ChecksumCRC32C
	}
	info, err := b.client.Client.PutObject(ctx, b.Name, key, from, from.Size(), opts)
	if err != nil {
		return b.explain("upload", key, err)
	}
	return b.stored(key, info)
}

func (b *Bucket) options(contentType string) minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: contentType, ServerSideEncryption: b.encryption, StorageClass: b.storageClass}
}

// typeOf returns the media type of a segment. The object has no content encoding, because
// clients would then decompress it although its name is that of a compressed file.
func typeOf(path string) string {
	switch {
	case strings.HasSuffix(path, ".zst"):
		return "application/zstd"
	case strings.HasSuffix(path, ".gz"):
		return "application/gzip"
	}
	return "text/plain; charset=utf-8"
}

// maxMessage bounds a server's message, in bytes.
const maxMessage = 256

// explain turns an error of the server into an error that the worker understands.
func (b *Bucket) explain(what, key string, err error) error {
	var answer minio.ErrorResponse
	var network net.Error
	switch {
	case errors.As(err, &answer):
	case errors.As(err, &network), errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: %w", what, key, err)
	default: // the error may quote a file of credentials
		return fmt.Errorf("%s %s: the credentials cannot be read, or the answer is not from S3", what, key)
	}
	answer.Message = printable.Text(answer.Message, maxMessage)
	err = fmt.Errorf("%s s3://%s/%s: %s (%d): %s%s", what, b.Name, key, printable.Text(answer.Code, maxMessage), answer.StatusCode, answer.Message, hint(answer))
	switch {
	case answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode == http.StatusServiceUnavailable:
		return &sink.BusyError{After: b.pauses.last(), Err: err}
	case answer.StatusCode == http.StatusRequestEntityTooLarge, refusesKey(answer.Code):
		return &sink.RejectedError{Err: err}
	}
	return err
}

// refusesKey reports whether the code of an answer means that no object can ever have the key, as with
// the long key of a stream whose name needs escapes. The second code is MinIO's.
func refusesKey(code string) bool {
	return code == "KeyTooLongError" || code == "XMinioInvalidObjectName"
}

// hint returns advice on an answer whose cause people can fix.
func hint(answer minio.ErrorResponse) string {
	switch answer.Code {
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "XAdminUserNotFound":
		return "; check the credentials, and that they allow putting objects"
	case "NoSuchBucket":
		return "; create the bucket: the sidecar never does"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
		return "; set the option region to the bucket's region"
	case "RequestTimeTooSkewed":
		return "; the clock of this node or of the server is wrong"
	}
	return ""
}
