package s3

import (
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

func TestKeysStayInTheirFolder(t *testing.T) {
	start := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	seg := segment.Info{Name: "20261122T235959.000Z-000001.log.zst", Start: start}
	for _, c := range []struct {
		name, prefix, stream string
		pod                  sink.Pod
		want                 string
	}{
		{"all is known", "prod", "gc.log", sink.Pod{Namespace: "shop", Name: "web-0", Container: "app"},
			"prod/log/namespace=shop/pod=web-0/container=app/stream=gc.log/date=2026-11-22/" + seg.Name},
		{"nothing is known", "", "gc.log", sink.Pod{}, "log/namespace=unknown/pod=unknown/container=unknown/stream=gc.log/date=2026-11-22/" + seg.Name},
		{"a name with everything", "p", "a b=c%/../ü", sink.Pod{Namespace: "n", Name: "p"},
			"p/log/namespace=n/pod=p/container=unknown/stream=a%20b%3Dc%25%2F..%2F%C3%BC/date=2026-11-22/" + seg.Name},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Bucket{Prefix: c.prefix}
			if got := b.key(c.pod, c.stream, seg); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBadURLsAreRefusedWithWhatToDo(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"s3:///prefix", "no bucket"},
		{"s3://logs?endpoint=ftp://x", "https://HOST"},
		{"s3://logs?part-size=1Mi", "out of range"},
		{"s3://logs?part-size=many", "part-size"},
		{"s3://logs?path-style=perhaps", "path-style"},
		{"s3://logs?sse=rot13", "s3 or kms:KEY"},
		{"s3://logs?sse=kms:k&endpoint=http://x", "https"},
		{"s3://logs?credentials=mine", "auto, env, file:PATH, role or none"},
		{"s3://logs?ca=/dev/null", "holds no certificate"},
		{"s3://logs?regoin=x", "unknown option regoin: the options are ca, cert, credentials, endpoint"},
		{"s3://key:secret@logs", "must not hold a user or password"},
		{"s3://logs?endpoint=https://me:secret@x", "must not hold a user or password"},
	} {
		t.Run(c.url, func(t *testing.T) {
			bad := sink.Config{URLs: address.URLs{c.url}}.Validate(map[string]sink.Kind{"s3": Kind()})
			if len(bad) != 1 || !strings.Contains(bad[0].Error(), c.want) || strings.Contains(bad[0].Error(), "secret") {
				t.Errorf("errors %v, want one with %q", bad, c.want)
			}
		})
	}
}

func TestTheIndexCountsWhatASegmentHolds(t *testing.T) {
	gap := ul.Gap{First: time.Date(2026, 11, 22, 10, 0, 2, 0, time.UTC), Last: time.Date(2026, 11, 22, 10, 0, 3, 0, time.UTC), Bytes: 9}
	gap.Lines[ul.Discard][ul.Debug] = 7
	lines := "[2026-11-22T10:00:01.000+0000][info][gc] one\n  more of it\n[2026-11-22T10:00:01.500+0000][debug][gc] two\n" +
		string(gap.AppendMarker(nil)) + "[2026-11-22T12:00:05.000+0200][warning][gc] three\n" + strings.Repeat("x", 10_000)
	path := filepath.Join(t.TempDir(), "20261122T100000.000Z-000001.log")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := describe("key", &sink.Batch{Stream: "gc.log", Segment: segment.Info{Path: path, Size: int64(len(lines))}}, format.Classifier{})
	want := Entry{Key: "key", Stream: "gc.log", Size: int64(len(lines)), Raw: int64(len(lines)),
		Lines: map[string]uint64{"info": 2, "debug": 1, "warning": 3},
		First: time.Date(2026, 11, 22, 10, 0, 1, 0, time.UTC), Last: time.Date(2026, 11, 22, 10, 0, 5, 0, time.UTC),
		Gaps: map[string]map[string]uint64{"discard": {"debug": 7}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v\nwant %+v", got, err, want)
	}
}

// A line that damage interrupts ends there: the bytes after the damage are not part of it.
func TestNoLineGoesOnAcrossDamageInTheIndex(t *testing.T) {
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	frame := func(text string) []byte { return zip.EncodeAll([]byte(text), nil) }
	damaged := frame("[0.002s][info][gc] two, of which nothing is left\n")
	damaged[len(damaged)-1]++
	raw := slices.Concat(frame("[0.001s][error][gc] one"), damaged, frame("[0.003s][debug][gc] three\n"))
	path := filepath.Join(t.TempDir(), "20261122T100000.000Z-000001.log.zst")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := describe("key", &sink.Batch{Segment: segment.Info{Path: path}}, format.Classifier{})
	if want := map[string]uint64{"error": 1, "debug": 1}; err != nil || !got.Damaged || !reflect.DeepEqual(got.Lines, want) {
		t.Errorf("%+v, error %v; want the lines %v, and damage", got, err, want)
	}
}

// A correct URL is accepted without a connection.
func TestParse(t *testing.T) {
	kind := map[string]sink.Kind{"s3": Kind()}
	bad := sink.Config{URLs: address.URLs{"s3://logs/a/b/?name=near&endpoint=https://127.0.0.1:1&region=r&path-style=true&sse=s3&storage-class=STANDARD_IA&part-size=8Mi&credentials=env"}}.Validate(kind)
	if len(bad) > 0 {
		t.Fatalf("a correct URL is refused: %v", bad)
	}
	u, _ := url.Parse("s3://logs/a/b/")
	o := address.NewOptions(url.Values{})
	b, err := Parse(u, &o)
	if err != nil || b.Name != "logs" || b.Prefix != "a/b" {
		t.Errorf(`%+v, error %v, want Name "logs" and Prefix "a/b"`, b, err)
	}
}

// If the writer's sum matches the segment's file, the sum goes into the index and the segment is not
// decoded.
func TestASumReplacesReadingTheSegment(t *testing.T) {
	var uploaded string
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(r.URL.Path, "/index/") {
			uploaded = string(text)
		}
		w.Header().Set("ETag", `"x"`)
	}, "")
	b := segmentOf(t, 10<<10)
	file, err := os.ReadFile(b.Segment.Path)
	if err != nil {
		t.Fatal(err)
	}
	right := index.Segment{Sum: index.Sum{Raw: 77}, Size: int64(len(file)), CRC: crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli))}
	otherSize, otherCRC := right, right
	otherSize.Size--
	otherCRC.CRC++
	seg, start := b.Segment, b.Segment.Start.UnixMilli()
	for _, c := range []struct {
		name string
		sum  index.Entry
		want string
	}{
		{"none", index.Entry{}, `"raw":10240`},
		{"of this file", index.Entry{Seq: seg.Seq, Start: start, Segment: right}, `"raw":77`},
		{"of a longer file", index.Entry{Seq: seg.Seq, Start: start, Segment: otherSize}, `"raw":10240`},
		{"of other bytes", index.Entry{Seq: seg.Seq, Start: start, Segment: otherCRC}, `"raw":10240`},
		{"of another segment", index.Entry{Seq: seg.Seq + 1, Start: start, Segment: right}, `"raw":10240`},
		{"of another stream", index.Entry{Seq: seg.Seq, Start: start + 1, Segment: right}, `"raw":10240`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := c.sum.Append(nil)
			if err := os.WriteFile(filepath.Join(filepath.Dir(seg.Path), index.Name), text, 0o640); err != nil {
				t.Fatal(err)
			}
			if err := s.Deliver(t.Context(), b); err != nil || !strings.Contains(uploaded, c.want) {
				t.Errorf("error %v, the index is %s, want %s", err, uploaded, c.want)
			}
		})
	}
}
