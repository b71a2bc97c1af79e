package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/cat"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/owner"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/test/lab"
)

// line is a line as a reader reports it.
type line struct {
	Time  time.Time
	Level string
	Run   int
	Text  string
}

// commit is a text that a sidecar commits in one step. after is the time from now until the sidecar
// has read all of the text.
type commit struct {
	after time.Duration
	text  string
}

// scenario is a copy that all readers read.
type scenario struct {
	commits []commit
	apart   bool  // each commit is a segment of its own
	remove  []int // the indexes of missing segments
	app     bool  // the copy is the log of an application, which a report ignores
	mixed   bool  // dates are not in the order of uptimes, so that readers differ in the range of a run
}

const paused = "Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 1.000ms"

func undated(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i += 10 {
		fmt.Fprintf(&b, "[%d.000s][info][gc] GC(%d) %s\n", i, i, paused)
	}
	return b.String()
}

// date returns the decorator of a time.
func date(at time.Time) string { return at.Format("[2006-01-02T15:04:05.000-0700]") }

func dated(begin time.Time, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%s[%d.000s][debug][gc] GC(%d) %s\n and more of it\n", date(begin.Add(time.Duration(i)*time.Second)), i, i, paused)
	}
	return b.String()
}

// app returns the log of an application, in JSON and in a pattern, with messages of two lines.
func app(begin time.Time, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		at := begin.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000Z07:00")
		if i%3 == 0 {
			fmt.Fprintf(&b, `{"@timestamp":"%s","level":"ERROR","message":"%d"}`+"\n", at, i)
			continue
		}
		fmt.Fprintf(&b, "%s  INFO 1 --- [demo] [main] c.e.Main : %d\n\tat c.e.Main.main\n", at, i)
	}
	return b.String()
}

// scenarios returns copies of logs that were read at about the given time.
func scenarios(now time.Time) map[string]scenario {
	long := func(n int) string { return strings.Repeat("x", n) }
	return map[string]scenario{
		"an hour of undated lines that a late sidecar finds":            {commits: []commit{{0, undated(10, 3610)}}},
		"... in several commits":                                        {commits: []commit{{0, undated(10, 1010)}, {0, undated(1010, 2010)}, {0, undated(2010, 3610)}, {time.Second, undated(3610, 3620)}}},
		"... of which the seek file has the first":                      {commits: []commit{{12 * time.Second, undated(10, 1010)}, {12 * time.Second, undated(1010, 2010)}, {13 * time.Second, undated(2010, 3610)}}},
		"... in several segments":                                       {commits: []commit{{0, undated(10, 1010)}, {0, undated(1010, 2010)}, {0, undated(2010, 3610)}, {time.Second, undated(3610, 3620)}}, apart: true},
		"undated lines that are read as they are written":               {commits: []commit{{0, undated(10, 20)}, {12 * time.Second, undated(20, 30)}, {24 * time.Second, undated(30, 40)}, {35 * time.Second, undated(40, 50)}}},
		"segments that retention has deleted":                           {commits: []commit{{0, undated(10, 1010)}, {0, undated(1010, 2010)}, {0, undated(2010, 3610)}}, apart: true, remove: []int{0}},
		"a segment that is missing":                                     {commits: []commit{{0, undated(10, 1010)}, {0, undated(1010, 2010)}, {0, undated(2010, 3610)}}, apart: true, remove: []int{1}},
		"dated lines":                                                   {commits: []commit{{0, dated(now.Add(-time.Hour), 0, 100)}, {time.Second, dated(now.Add(-time.Hour), 100, 110)}}},
		"dated lines of two JVMs, each in segments of its own":          {commits: []commit{{0, dated(now.Add(-time.Hour), 0, 100)}, {time.Second, dated(now.Add(-50*time.Minute), 0, 50)}, {2 * time.Second, dated(now.Add(-50*time.Minute), 50, 90)}}, apart: true},
		"dated and undated":                                             {commits: []commit{{0, undated(10, 100) + dated(now.Add(-time.Hour), 100, 110) + undated(110, 130)}}, mixed: true},
		"a date without an uptime, and undated lines in the same frame": {commits: []commit{{0, date(now.Add(-time.Second)) + "[info][gc] GC(1) " + paused + "\n" + undated(10, 3610)}}, mixed: true},
		"two JVMs":                     {commits: []commit{{0, undated(10, 1010) + undated(0, 500)}, {time.Second, undated(500, 510)}}},
		"two JVMs, the second longer":  {commits: []commit{{0, undated(10, 510)}, {0, undated(0, 1000)}, {0, undated(1000, 2000)}}},
		"a clock that is set back":     {commits: []commit{{0, dated(now.Add(-time.Minute), 0, 10)}, {time.Second, dated(now.Add(-2*time.Hour), 10, 20)}, {2 * time.Second, undated(20, 60)}}, mixed: true},
		"a clock that runs ahead":      {commits: []commit{{0, dated(now.Add(2*time.Hour), 0, 10)}, {time.Second, undated(20, 60)}}, mixed: true},
		"dates that are not believed":  {commits: []commit{{0, undated(10, 50) + "[9999-11-21T10:59:58.123+0100][info][gc] one\n[99999999999.000s][info][gc] two\n" + undated(50, 90)}}, mixed: true},
		"lines that show no time":      {commits: []commit{{0, "text\n[info][gc] GC(1) " + paused + "\n more\n"}, {20 * time.Second, "[info][gc] GC(2) " + paused + "\n"}}, mixed: true},
		"text before the first record": {commits: []commit{{0, "text\nmore text\n" + undated(10, 50)}}, mixed: true},
		"a gap, and a line that has no level": {commits: []commit{{0, undated(10, 50) + date(now.Add(-time.Second)) +
			"[warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50\n[60.000s][gc] two\n"}}, mixed: true},
		"a segment that is missing within a line":           {commits: []commit{{0, undated(10, 50) + "[60.000s][info][gc] one of which"}, {0, " and"}, {0, " the middle is missing\n" + undated(70, 90)}}, apart: true, remove: []int{1}, mixed: true},
		"an application's log":                              {commits: []commit{{0, app(now.Add(-time.Hour), 0, 100)}, {12 * time.Second, app(now.Add(-time.Hour), 100, 200)}, {24 * time.Second, app(now.Add(-time.Minute), 0, 30)}}, mixed: true, app: true},
		"an application's log that begins within a message": {commits: []commit{{0, " more\n at x.Y\n" + app(now.Add(-time.Hour), 0, 100)}, {12 * time.Second, "\tat x.Z\n" + app(now.Add(-time.Minute), 0, 30)}}, mixed: true, app: true},
		"a gap within a message": {commits: []commit{{0, undated(10, 50) + "[60.000s][info][gc] one\n more\n" + date(now.Add(-time.Second)) +
			"[warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50\n and more\n" + undated(70, 90)}}, mixed: true},
		"a line over several commits":      {commits: []commit{{0, undated(10, 50) + "[60.000s][info][gc] " + long(3000)}, {time.Second, long(3000)}, {2 * time.Second, "z\n" + undated(70, 90)}}, mixed: true},
		"a long line over several commits": {commits: []commit{{0, undated(10, 50) + "[60.000s][info][gc] " + long(100_000)}, {12 * time.Second, long(100_000)}, {24 * time.Second, "z\n" + undated(70, 90)}}, mixed: true},
	}
}

// All readers of a copy report the same about each line. This test fails if a reader has a rule of
// its own.
func TestAllReadersAgreeOnEachLine(t *testing.T) {
	for name, of := range scenarios(time.Now().UTC().Truncate(time.Millisecond)) {
		for _, how := range []segment.Compression{segment.Zstd, segment.Gzip, segment.None} {
			t.Run(name+"/"+how.String(), func(t *testing.T) {
				dir := persist(t, how, of)
				agree(t, dir, of)
				sumUp(t, dir)
				agree(t, dir, of)
			})
		}
	}
}

// sumUp makes the file of sums, as a sidecar does for larger segments.
func sumUp(t *testing.T, dir string) {
	t.Helper()
	dir = filepath.Join(dir, "gc.log")
	segs, err := segment.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for _, seg := range segs {
		r, err := segment.OpenListed(seg)
		if err != nil {
			t.Fatal(err)
		}
		var content index.Builder
		for raw, err := r.Next(); err == nil; raw, err = r.Next() {
			content.Frame(raw)
		}
		_ = r.Close()
		f, err := segment.OpenFile(seg)
		if err != nil {
			t.Fatal(err)
		}
		size, crc, err := segment.Checksum(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		e := index.Entry{Seq: seg.Seq, Start: seg.Start.UnixMilli(), Segment: content.Segment(size, crc)}
		file, _ = e.Append(file)
	}
	if err := os.WriteFile(filepath.Join(dir, index.Name), file, 0o640); err != nil {
		t.Fatal(err)
	}
}

// agree compares the reports of all readers about a destination.
func agree(t *testing.T, dir string, of scenario) {
	printed, delivered := catLines(t, dir, cat.Config{}), sinkLines(t, dir)
	if len(printed) == 0 {
		t.Fatal("nothing is printed, want lines")
	}
	for i := range min(len(printed), len(delivered)) {
		p, d := printed[i], delivered[i]
		p.Run = 0
		if d.Time = d.Time.Truncate(time.Millisecond); p.Time.IsZero() {
			p.Time = d.Time // the line shows no time, but an engine needs one
		}
		if p != d.line {
			t.Fatalf("line %d:\nprinted   %+v\ndelivered %+v", i, short(p), short(d.line))
		}
		if !d.shown && d.Time.After(d.written) {
			t.Fatalf("line %d is dated %v, want a time no later than %v, when it was persisted", i, d.Time, d.written)
		}
	}
	if len(printed) != len(delivered) {
		t.Fatalf("%d lines are printed, but %d are delivered", len(printed), len(delivered))
	}
	want, got := runsOf(printed), checkRuns(t, dir, check.Config{})
	if of.mixed { // dates replace estimates in the range of a run
		for i := range min(len(want), len(got)) {
			want[i].First, want[i].Last = got[i].First, got[i].Last
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("runs (-printed +checked)\n%s", d)
	}
	if !of.app {
		reported, err := report.Read(t.Context(), []string{dir}, report.Config{})
		if err != nil {
			t.Fatal(err)
		}
		agreeOnReport(t, printed, reported)
		if !of.mixed {
			agreeOnRuns(t, want, reported)
		}
	}
	first, last := printed[len(printed)/3].Time, printed[2*len(printed)/3].Time
	windows := []struct{ since, until time.Time }{{first, time.Time{}}, {time.Time{}, last}, {first, last}, {last, last}}
	for _, l := range printed {
		if at := l.Time.Add(time.Second); isGap(l) { // each gap of the scenarios lasts longer
			windows = append(windows, struct{ since, until time.Time }{at, at.Add(time.Second)})
		}
	}
	for _, w := range windows {
		inside := catLines(t, dir, cat.Config{Since: w.since, Until: w.until})
		checked, gaps := 0, 0
		for _, r := range checkRuns(t, dir, check.Config{Since: w.since, Until: w.until}) {
			checked, gaps = checked+r.Lines, gaps+r.Gaps
		}
		n := len(withoutGaps(inside))
		if checked != n || gaps != len(inside)-n {
			t.Errorf("from %v to %v, %d lines and %d gaps are printed, but a check finds %d and %d", w.since, w.until, n, len(inside)-n, checked, gaps)
		}
		if of.app {
			continue
		}
		reported, err := report.Read(t.Context(), []string{dir}, report.Config{Since: w.since, Until: w.until})
		// A window with only gaps and lines without a level is not the log of a JVM.
		record := func(l line) bool { return l.Level != "unknown" && !isGap(l) }
		if errors.Is(err, report.ErrNoLog) && !slices.ContainsFunc(inside, record) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		agreeOnReport(t, inside, reported)
	}
}

// agreeOnReport compares the lines by level, and the times of all pauses, with a report.
func agreeOnReport(t *testing.T, printed []line, r *view.Report) {
	t.Helper()
	levels, times := map[string]uint64{}, []int64(nil)
	for _, l := range withoutGaps(printed) {
		levels[l.Level]++
		if strings.HasSuffix(l.Text, paused) {
			times = append(times, l.Time.Add(-time.Millisecond).UnixMilli()) // the report has the time at which a stop begins
		}
	}
	gaps := uint64(0)
	for _, p := range r.Problems {
		if p.Kind == "dropped" {
			gaps += p.Count
		}
	}
	if n := uint64(len(printed) - len(withoutGaps(printed))); n != gaps {
		t.Errorf("%d gaps are printed, but %d are reported", n, gaps)
	}
	for _, share := range r.Volume.Levels {
		if levels[share.Name] != share.Lines {
			t.Errorf("%d lines of level %s are printed, but %d are reported", levels[share.Name], share.Name, share.Lines)
		}
		delete(levels, share.Name)
	}
	if len(levels) > 0 {
		t.Errorf("the report lacks the levels %v", levels)
	}
	var stops []int64
	for _, s := range r.Series {
		for _, p := range s.Points {
			for range p.N {
				stops = append(stops, int64(math.Round(p.At*1e3)))
			}
		}
	}
	slices.Sort(times)
	slices.Sort(stops)
	if d := cmp.Diff(times, stops); d != "" {
		t.Errorf("times of stops (-printed +reported)\n%s", d)
	}
	if dated := slices.ContainsFunc(printed, func(l line) bool { return !l.Time.IsZero() }); r.Dated != dated {
		t.Errorf("the report is dated: %v, but its lines are: %v", r.Dated, dated)
	}
}

// agreeOnRuns compares runs with those of a report.
func agreeOnRuns(t *testing.T, want []run, r *view.Report) {
	t.Helper()
	if len(want) != len(r.Runs) {
		t.Fatalf("%d runs are printed, but %d are reported", len(want), len(r.Runs))
	}
	for i, w := range want {
		got := r.Runs[i]
		if begin, end := int64(math.Round(got.Begin*1e3)), int64(math.Round(got.End*1e3)); begin != w.First.UnixMilli() || end != w.Last.UnixMilli() {
			t.Errorf("run %d is printed from %v to %v, but reported from %v to %v", i+1, w.First, w.Last, time.UnixMilli(begin).UTC(), time.UnixMilli(end).UTC())
		}
	}
}

func withoutGaps(lines []line) []line {
	return slices.DeleteFunc(slices.Clone(lines), isGap)
}

func isGap(l line) bool { return strings.HasPrefix(l.Text, "gap: ") }

func short(l line) line { l.Text = l.Text[:min(len(l.Text), 60)]; return l }

// persist makes a destination of one stream. Its segments were last written when the last
// commit in them was read.
func persist(t *testing.T, how segment.Compression, of scenario) string {
	t.Helper()
	dir := t.TempDir()
	cfg := store.DefaultConfig()
	if how != segment.Gzip {
		cfg.Compress = how
	}
	if of.apart {
		cfg.SegmentBytes = 1
	}
	durable, err := store.Open(dir, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := durable.Stream("gc.log")
	if err := s.Resume(segment.Mark{}, 0); err != nil {
		t.Fatal(err)
	}
	written := map[string]time.Time{}
	for _, c := range of.commits {
		read := time.Now().Add(c.after)
		err := s.Append([]byte(c.text))
		var mark segment.Mark
		if err == nil {
			mark, err = s.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		s.SeenUntil(read)
		written[mark.Segment] = time.Now().Add(c.after + time.Millisecond).Truncate(time.Millisecond) // the seek file rounds up to a millisecond
	}
	if err := durable.Close(); err != nil {
		t.Fatal(err)
	}
	segs, err := segment.List(filepath.Join(dir, "gc.log"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range segs {
		if how == segment.Gzip {
			was := segs[i].Name
			segs[i] = asGzip(t, segs[i])
			written[segs[i].Name] = written[was]
		}
	}
	for i, seg := range segs {
		if slices.Contains(of.remove, i) {
			err = os.Remove(seg.Path)
		} else if at, ok := written[seg.Name]; ok {
			err = os.Chtimes(seg.Path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// catLines returns what `ullage logs --json` prints.
func catLines(t *testing.T, dir string, cfg cat.Config) (lines []line) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cfg.JSON = true
	p := cat.New(cfg, &stdout, &stderr)
	for _, err := range p.Find([]string{dir}) {
		t.Fatal(err)
	}
	if err := p.Run(context.Background()); err != nil || stderr.Len() > 0 {
		t.Fatalf("cat: error %v, stderr %q; want no error and an empty stderr", err, stderr.String())
	}
	for text := range strings.Lines(stdout.String()) {
		var l struct {
			Time  time.Time
			Level string
			Run   int
			Text  string
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Level == "" {
			l.Level = "unknown"
		}
		lines = append(lines, line{l.Time.UTC(), l.Level, l.Run, l.Text})
	}
	return lines
}

// taken is a line that a sink has taken.
type taken struct {
	line
	shown   bool      // the line has a date, or its record has one
	written time.Time // the last write of its segment
}

// taking is a sink that takes everything.
type taking struct {
	lines []taken
	shown bool // the last record has a date
}

func (s *taking) Deliver(_ context.Context, b *sink.Batch) error {
	for _, l := range b.Lines {
		text := string(l.Text)
		if l.Kind == ul.Header || l.Kind == ul.Drop {
			s.shown = strings.HasPrefix(text, "[20")
		}
		for strings.HasPrefix(text, "[") { // --json prints only the message
			if _, rest, ok := strings.Cut(text, "]"); ok {
				text = strings.TrimPrefix(rest, " ")
				continue
			}
			break
		}
		s.lines = append(s.lines, taken{line{Time: l.Time, Level: l.Level.String(), Text: text}, s.shown, b.Segment.ModTime})
	}
	return nil
}

func (s *taking) Close() error { return nil }

// sinkLines returns the lines that a sink gets from a complete destination.
func sinkLines(t *testing.T, dir string) []taken {
	t.Helper()
	to := &taking{}
	if err := sink.Feed(context.Background(), filepath.Join(dir, "gc.log"), "gc.log", to); err != nil {
		t.Fatal(err)
	}
	return to.lines
}

// results are the runs that a check finds.
type results struct{ runs []check.Run }

func (r *results) Lack(owner.Lack) error     { return nil }
func (r *results) Stream(check.Stream) error { return nil }
func (r *results) Run(run check.Run) error   { r.runs = append(r.runs, run); return nil }

// run has the parts of a run that can be compared.
type run struct {
	First, Last time.Time
	Lines, Gaps int
	Levels      string
}

func checkRuns(t *testing.T, dir string, cfg check.Config) (runs []run) {
	t.Helper()
	r := &results{}
	if _, err := check.Streams(context.Background(), dir, []string{"gc.log"}, cfg, r); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.runs {
		levels, err := json.Marshal(one.Levels)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{one.First.UTC().Truncate(time.Millisecond), one.Last.UTC().Truncate(time.Millisecond), int(one.Lines), int(one.Gaps), string(levels)})
	}
	return runs
}

// runsOf sums up lines as a check does: without markers, which have no run of their own.
func runsOf(lines []line) (runs []run) {
	levels, at := map[string]int{}, 0
	end := func() {
		if len(runs) > 0 {
			text, _ := json.Marshal(levels)
			runs[len(runs)-1].Levels = string(text)
		}
		levels = map[string]int{}
	}
	for _, l := range lines {
		if isGap(l) {
			if len(runs) > 0 {
				runs[len(runs)-1].Gaps++
			}
			continue
		}
		of := max(l.Run, 1) // lines before the first uptime belong to the first run
		if of != at {
			end()
			at = of
			runs = append(runs, run{First: l.Time, Last: l.Time})
		}
		r := &runs[len(runs)-1]
		r.Lines++
		levels[l.Level]++
		if l.Time.Before(r.First) {
			r.First = l.Time
		}
		if l.Time.After(r.Last) {
			r.Last = l.Time
		}
	}
	end()
	return runs
}

// asGzip replaces a segment with one in gzip, as an earlier version wrote it.
func asGzip(t *testing.T, seg segment.Info) segment.Info {
	t.Helper()
	r, err := segment.OpenListed(seg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path, err := lab.Zip(seg.Path, r.Next)
	if err != nil {
		t.Fatal(err)
	}
	seg.Name, seg.Path, seg.Compress = filepath.Base(path), path, segment.Gzip
	return seg
}
