package sinks

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/test/lab"
)

const duckVersion = "1.5.5"

// duckdb returns the path of a Python that has DuckDB and its extension for S3. They are installed
// into the cache once.
func duckdb(t *testing.T) (python string) {
	t.Helper()
	python, err := lab.Python("duckdb-"+duckVersion, "duckdb=="+duckVersion, "duckdb-extension-httpfs=="+duckVersion)
	must(t, err)
	return python
}

// duckScript reads a JSON object with queries from its standard input, runs them, and prints their
// rows.
const duckScript = `
import duckdb, glob, json, os, sys
import duckdb_extension_httpfs as httpfs
job = json.load(sys.stdin)
con = duckdb.connect(config={"autoinstall_known_extensions": "false"})
con.execute("LOAD '%s'" % glob.glob(os.path.join(list(httpfs.__path__)[0], "extensions", "*", "httpfs.duckdb_extension"))[0])
con.execute("SET ca_cert_file = '%s'" % job["ca"])
con.execute("CREATE SECRET (TYPE s3, KEY_ID '%s', SECRET '%s', ENDPOINT '%s', URL_STYLE 'path', REGION 'us-east-1')" % (job["key"], job["secret"], job["endpoint"]))
print(json.dumps([[[str(v) for v in row] for row in con.execute(q).fetchall()] for q in job["queries"]]))
`

// queries returns the queries in docs/sinks.md, unchanged.
func queries(t *testing.T) (found []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/sinks.md")
	must(t, err)
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	return found
}

// asks runs queries and returns the rows of each.
func (g *gateway) asks(t *testing.T, queries []string) (rows [][][]string) {
	t.Helper()
	job, err := json.Marshal(map[string]any{"ca": g.ca(), "key": "ullage", "secret": g.secret, "endpoint": g.address(), "queries": queries})
	must(t, err)
	cmd := exec.Command(duckdb(t), "-c", duckScript)
	cmd.Stdin = strings.NewReader(string(job))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	must(t, json.Unmarshal(out, &rows))
	return rows
}

// sealed makes a segment whose name has the given time of creation.
func sealed(t *testing.T, start time.Time, text string) *sink.Batch {
	t.Helper()
	dest := t.TempDir()
	durable, err := store.Open(dest, store.DefaultConfig(), nil, nil)
	must(t, err)
	must(t, durable.Acquire(t.Context()))
	s := durable.Stream(stream)
	_, _, err = s.Recover()
	must(t, err)
	for text := range strings.SplitAfterSeq(text, "\n") { // some frames
		must(t, s.Append([]byte(text)))
	}
	mark, err := s.Sync()
	must(t, err)
	must(t, durable.Close())
	name := start.UTC().Format("20060102T150405.000Z") + "-" + mark.Segment[strings.LastIndexByte(mark.Segment, '-')+1:]
	path := filepath.Join(dest, stream, name)
	must(t, os.Rename(filepath.Join(dest, stream, mark.Segment), path))
	info, ok := segment.ParseName(name)
	if !ok {
		t.Fatalf("%s is not the name of a segment", name)
	}
	info.Path, info.Size, info.Stream = path, mark.Offset, stream
	return &sink.Batch{Stream: stream, Segment: info, Bytes: info.Size}
}

// The queries in the documentation find the errors of yesterday: one counts them from the index alone, the other
// lists the lines.
func TestDuckDB(t *testing.T) {
	g := newGateway(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "ullage")
	t.Setenv("AWS_SECRET_ACCESS_KEY", g.secret)
	now := time.Now().UTC()
	yesterday := now.AddDate(0, 0, -1).Truncate(24 * time.Hour).Add(10 * time.Hour)
	line := func(at time.Time, level string) string {
		return at.Format("[2006-01-02T15:04:05.000-0700]") + "[" + level + "][gc] \"quoted\", and\tmore\n"
	}
	gap := ul.Gap{First: yesterday, Last: yesterday.Add(time.Second), Bytes: 100}
	gap.Lines[ul.Discard][ul.Debug] = 7
	first := sealed(t, yesterday, line(yesterday, "info ")+line(yesterday, "error")+string(gap.AppendMarker(nil))+line(yesterday.Add(time.Hour), "error"))
	for _, b := range []*sink.Batch{
		first,
		sealed(t, yesterday.Add(2*time.Hour), line(yesterday.Add(2*time.Hour), "error")+line(yesterday.Add(3*time.Hour), "debug")),
		sealed(t, now, line(now, "error")), // belongs to today
	} {
		engine := g.sink(t) // a new sink for each, as in another process, so that each has its own index
		must(t, engine.Deliver(t.Context(), b))
		time.Sleep(2 * time.Millisecond) // so that the times in their names differ
	}
	again := g.sink(t)
	must(t, again.Deliver(t.Context(), first)) // as after a kill

	asked := queries(t)
	if len(asked) != 2 {
		t.Fatalf("docs/sinks.md has %d queries, want 2", len(asked))
	}
	rows := g.asks(t, asked)
	want := []string{"shop", "web-0", "2", "3", "7"}
	if len(rows[0]) != 1 || strings.Join(rows[0][0][:5], " ") != strings.Join(want, " ") {
		t.Errorf("the index has %q, want %q", rows[0], want)
	}
	if len(rows[1]) != 3 {
		t.Errorf("the log has %d errors, want 3: %q", len(rows[1]), rows[1])
	}
	for _, row := range rows[1] {
		if len(row) != 4 || row[2] != stream || !strings.HasSuffix(row[3], "][error][gc] \"quoted\", and\tmore") {
			t.Errorf("a line is %q, want 4 columns, with the stream %q in the third and the whole message in the last", row, stream)
		}
	}
	t.Logf("from the index alone: %v", rows[0])
}
