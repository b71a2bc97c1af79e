package cat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/test/lab/fakebucket"
)

// bucketOf serves a bucket with one segment for each stream of shop/web-0, CONTAINER/STREAM, and returns its URL.
func bucketOf(t *testing.T, streams map[string]string) string {
	t.Helper()
	objects := map[string]string{}
	for name, text := range streams {
		container, stream, _ := strings.Cut(name, "/")
		objects[fmt.Sprintf("prod/log/namespace=shop/pod=web-0/container=%s/stream=%s/date=2026-11-22/20261122T120000.000Z-000001.log", container, stream)] = text
	}
	return fakebucket.New(t, objects)
}

// Each stream of a bucket has the name of its container, and the format that --format gives to the stream.
func TestStreamsOfABucket(t *testing.T) {
	url := bucketOf(t, map[string]string{
		"app/app.log": "2026-11-22 12:00:00.000 ERROR [main] foo - boom\n",
		"app/gc.log":  "[2026-11-22T12:00:00.000+0000][info][gc] of app\n",
		"db/gc.log":   "[2026-11-22T12:00:00.000+0000][info][gc] of db\n",
	})
	for _, c := range []struct {
		formats format.Rules
		level   bool // the application's line has its level
	}{{nil, true}, {format.Rules{{Glob: "app.log", Format: format.UL}}, false}} {
		out, stderr := printed(t, Config{JSON: true, Formats: c.formats}, url)
		for _, name := range []string{"app/app.log", "app/gc.log", "db/gc.log"} {
			if n := strings.Count(out, `"stream":"shop/web-0/`+name+`"`); n != 1 {
				t.Errorf("%d lines of %s, want 1:\n%s%s", n, name, out, stderr)
			}
		}
		if got := strings.Contains(out, `"level":"error"`); got != c.level {
			t.Errorf("with the formats %v, the application's line has its level: %t, want %t:\n%s", c.formats, got, c.level, out)
		}
	}
}

// A segment that was not uploaded yet is named after the bucket.
func TestABucketAndASegmentAreRead(t *testing.T) {
	const line = "[2026-11-22T12:00:00.000+0000][info][gc] of a segment\n"
	dir := filepath.Join(t.TempDir(), "gc.log")
	segment := filepath.Join(dir, "20261122T120000.000Z-000002.log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segment, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	url := bucketOf(t, map[string]string{"app/gc.log": "[2026-11-22T11:00:00.000+0000][info][gc] of the bucket\n"})
	out, stderr := printed(t, Config{}, url, segment)
	if !strings.Contains(out, "of the bucket") || !strings.Contains(out, "of a segment") {
		t.Errorf("printed\n%s%s\nwant the lines of both", out, stderr)
	}
}
