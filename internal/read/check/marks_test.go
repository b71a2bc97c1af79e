package check

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/segment"
)

// Marks are counted for the streams that they describe, and are not checked as a stream of their own.
func TestMarksAreNoStreamAndCountForTheirs(t *testing.T) {
	c := newCopied(t, segment.Zstd, settings.Mi)
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	var text strings.Builder
	at := func(hours int, kind mark.Kind, details ...string) {
		m := mark.New(kind, details...)
		m.Time = begin.Add(time.Duration(hours) * time.Hour)
		text.Write(m.Append(nil))
	}
	at(0, mark.SidecarStarted)
	at(1, mark.JVMStarted, "stream", "gc.log,app.log")
	at(2, mark.ArchivesMissed, "stream", "app.log", "count", "3")
	at(2, mark.ArchivesMissed, "stream", "app.log", "count", "?")
	at(3, mark.Truncated, "stream", "gc.log")
	at(4, mark.JVMEnded, "stream", "gc.log,app.log", "how", mark.Crashed)
	c.commit(c.stream(mark.Stream), text.String()+"anything\n")
	const line = "[2026-11-20T10:00:00.000+0000][info][gc] line\n"
	c.commit(c.stream("gc.log"), line)
	c.commit(c.stream("app.log"), line)
	r, total := c.check(Config{})
	if len(r.streams) != 2 || len(r.runs) != 2 || total.Streams != 2 || total.Lines != 2 || total.Runs != 2 {
		t.Fatalf("the total is %+v, want 2 in streams, 2 in runs, Streams 2, Lines 2 and Runs 2", total)
	}
	app, gc := r.streams[0], r.streams[1]
	if app.Complete() || app.MissedArchives != 4 || gc.Complete() || gc.Truncations != 1 || total.Complete || total.Incomplete != 2 {
		t.Errorf("app.log is %+v, gc.log %+v, the total %+v; want 4 missed archives, 1 truncation, 2 incomplete streams and nothing complete", app, gc, total)
	}
	want := map[mark.Kind]uint64{mark.SidecarStarted: 1, mark.JVMStarted: 1, mark.ArchivesMissed: 2, mark.Truncated: 1, mark.JVMEnded: 1}
	if diff := cmp.Diff(want, total.Marks); diff != "" {
		t.Errorf("marks (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[mark.Kind]uint64{mark.ArchivesMissed: 2, mark.Truncated: 1, mark.JVMEnded: 1}, total.Warnings); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	// In a window, and for one stream.
	if _, total = c.check(Config{Since: begin.Add(150 * time.Minute)}); total.Incomplete != 1 || total.Marks[mark.ArchivesMissed] > 0 || total.Marks[mark.JVMEnded] != 1 {
		t.Errorf("the total of the window is %+v, want Incomplete 1, total.Marks[mark.ArchivesMissed] 0 and total.Marks[mark.JVMEnded] 1", total)
	}
	if _, total = c.check(Config{Stream: "gc*"}); total.Incomplete != 1 || total.Streams != 1 || total.Marks[mark.JVMStarted] != 1 || total.Marks[mark.ArchivesMissed] > 0 {
		t.Errorf("the total of one stream is %+v, want Incomplete 1, Streams 1, total.Marks[mark.JVMStarted] 1 and total.Marks[mark.ArchivesMissed] 0", total)
	}
	if r, _ = c.check(Config{Stream: mark.Stream}); len(r.streams) != 1 || r.streams[0].Lines != 7 {
		t.Errorf("the streams are %+v, want 1 in streams and Lines 7", r.streams)
	}
}

// The directory of one stream has no marks of its own. A check of it reads those of the destination that concern it.
func TestADirectoryOfAStreamHasTheMarksOfItsDestination(t *testing.T) {
	c := newCopied(t, segment.Zstd, settings.Mi)
	m := mark.New(mark.ArchivesMissed, "stream", "gc.log", "count", "3")
	m.Time = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	c.commit(c.stream(mark.Stream), string(m.Append(nil)))
	const line = "[2026-11-20T10:00:00.000+0000][info][gc] line\n"
	c.commit(c.stream("gc.log"), line)
	c.commit(c.stream("app.log"), line)
	for stream, missed := range map[string]uint64{"gc.log": 3, "app.log": 0} {
		dir := filepath.Join(c.dir, stream)
		names, err := Config{}.Names(dir)
		if err != nil {
			t.Fatal(err)
		}
		var r results
		total, err := Streams(t.Context(), dir, names, Config{}, &r)
		if err != nil || len(r.streams) != 1 || r.streams[0].MissedArchives != missed || total.Complete != (missed == 0) {
			t.Errorf("%s: %+v, the total %+v, error %v; want %d missed archives", stream, r.streams, total, err, missed)
		}
	}
	if _, err := (Config{Stream: "app*"}).Names(filepath.Join(c.dir, "gc.log")); err == nil {
		t.Error("the directory of gc.log has a stream that matches app*, want an error")
	}
}
