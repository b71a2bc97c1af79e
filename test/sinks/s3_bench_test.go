package sinks

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/s3"
	"github.com/ullage/ullage/test/lab"
)

// BenchmarkS3Upload compares the sink with a bare PUT of the same file, without a checksum. The two take turns to
// upload a full segment to a server whose root is a tmpfs. "decoded" is for a segment that an earlier process began,
// whose sums are not known.
func BenchmarkS3Upload(b *testing.B) {
	g := newGatewayIn(b, lab.Tmpfs(b, "1g"))
	batch := fullSegment(b)
	b.Setenv("AWS_ACCESS_KEY_ID", "ullage")
	b.Setenv("AWS_SECRET_ACCESS_KEY", g.secret)
	for _, name := range []string{"known", "decoded"} {
		if name == "decoded" {
			must(b, os.Remove(filepath.Join(filepath.Dir(batch.Segment.Path), index.Name)))
		}
		b.Run(name, func(b *testing.B) {
			engine := g.sink(b)
			defer engine.Close()
			put := g.presigned(b)
			var bare, delivered time.Duration
			for b.Loop() {
				begun := time.Now()
				g.put(put, batch.Segment.Path)
				half := time.Now()
				if err := engine.Deliver(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				bare += half.Sub(begun)
				delivered += time.Since(half)
			}
			mib := float64(batch.Bytes) / (1 << 20) * float64(b.N)
			b.ReportMetric(mib/bare.Seconds(), "MiB/s-bare-PUT")
			b.ReportMetric(mib/delivered.Seconds(), "MiB/s-sink")
			b.ReportMetric(100*bare.Seconds()/delivered.Seconds(), "%-of-bare-PUT")
		})
	}
}

// fullSegment makes a segment of 64 MiB whose sums are known.
func fullSegment(b *testing.B) *sink.Batch {
	b.Helper()
	dest := filepath.Join(lab.Tmpfs(b, "128m"), "dest")
	durable, err := store.Open(dest, store.DefaultConfig(), nil, nil)
	must(b, err)
	must(b, durable.Acquire(context.Background()))
	s := durable.Stream(stream)
	_, _, err = s.Recover()
	must(b, err)
	records := lab.NewRecords(1)
	raw := make([]byte, 0, segment.FrameBytes)
	for mark := (segment.Mark{}); !mark.Sealed; {
		for raw = raw[:0]; len(raw) < segment.FrameBytes/2; {
			record, _ := records.Next()
			raw = append(raw, record...)
		}
		must(b, s.Append(raw))
		mark, err = s.Sync()
		must(b, err)
	}
	must(b, durable.Close())
	all, err := segment.List(filepath.Join(dest, stream))
	must(b, err)
	all[0].Stream = stream
	return &sink.Batch{Stream: stream, Segment: all[0], Bytes: all[0].Size}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// sink returns the S3 sink of this process.
func (g *gateway) sink(tb testing.TB) sink.Sink {
	tb.Helper()
	u, err := url.Parse(g.url("", ""))
	must(tb, err)
	o := address.NewOptions(u.Query())
	u.RawQuery = ""
	engine, err := s3.Kind().Open(sink.Target{Name: "s3", URL: u, Options: o, Pod: sink.Pod{Namespace: "shop", Name: "web-0"}})
	must(tb, err)
	return engine
}

// presigned returns a URL to which one object may be put without credentials.
func (g *gateway) presigned(tb testing.TB) string {
	tb.Helper()
	client, err := minio.New(g.address(), &minio.Options{Secure: true, Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
		Creds: credentials.NewStaticV4("ullage", g.secret, "")})
	must(tb, err)
	u, err := client.PresignedPutObject(tb.Context(), bucketName, "bare", time.Hour)
	must(tb, err)
	return u.String()
}

var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 1}}

// put uploads a file in a single request.
func (g *gateway) put(to, path string) {
	g.Helper()
	f, err := os.Open(path)
	g.must(err)
	defer f.Close()
	info, err := f.Stat()
	g.must(err)
	req, err := http.NewRequest(http.MethodPut, to, f)
	g.must(err)
	req.ContentLength = info.Size()
	resp, err := insecure.Do(req)
	g.must(err)
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		g.Fatalf("%s: %s", resp.Status, text)
	}
}
