package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/segment/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// object is a segment in the bucket of a test. Its content is its key, unless it has lines.
type object struct {
	pod, stream string
	hour        int    // after noon, when the segment was begun
	number      int    // of the segment; 0: hour + 1
	lines       string // uncompressed
	cut         int    // bytes that the server does not send
	listed      int    // bytes that the server adds to the size in its listing
}

func (o object) name() string {
	name := fmt.Sprintf("%s-%06d.log", noon.Add(time.Duration(o.hour)*time.Hour).Format("20060102T150405.000Z"), cmp.Or(o.number, o.hour+1))
	if o.lines == "" {
		name += ".zst"
	}
	return name
}

func (o object) content() string { return cmp.Or(o.lines, o.key()) }

func (o object) key() string {
	return fmt.Sprintf("prod/log/namespace=shop/pod=%s/container=app/stream=%s/date=2026-11-22/%s", o.pod, o.stream, o.name())
}

// bucketOf serves a bucket and returns its URL.
func bucketOf(t *testing.T, objects ...object) string {
	t.Helper()
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.key(), b.key()) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			_, _ = io.WriteString(w, "<ListBucketResult>")
			for _, o := range objects {
				if strings.HasPrefix(o.key(), r.URL.Query().Get("prefix")) {
					fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><LastModified>2026-11-22T15:00:00.000Z</LastModified></Contents>", o.key(), len(o.content())+o.listed)
				}
			}
			_, _ = io.WriteString(w, "</ListBucketResult>")
			return
		}
		key := strings.TrimPrefix(r.URL.Path, "/logs/")
		i := slices.IndexFunc(objects, func(o object) bool { return o.key() == key || o.key() == strings.ReplaceAll(key, "%", "%25") })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
		text := objects[i].content()
		_, _ = io.WriteString(w, text[:len(text)-objects[i].cut])
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	return "s3://logs/prod?region=x&path-style=true&endpoint=" + s.URL
}

func TestPodsHaveAURLEach(t *testing.T) {
	url := bucketOf(t, object{pod: "web-1", stream: "gc.log"}, object{pod: "web-0", stream: "gc.log"}, object{pod: "web-0", stream: "gc.log", hour: 1}, object{pod: "web-0", stream: mark.Stream})
	pods, err := Pods(t.Context(), url)
	if err != nil || len(pods) != 2 || pods[0].Name != "shop/web-0" || pods[1].Name != "shop/web-1" {
		t.Fatalf(`%+v, %v, want 2 pods with the names "shop/web-0" and "shop/web-1" and no error`, pods, err)
	}
	if got := fetched(t, pods[1].URL, time.Time{}); len(got) != 1 || got[0] != "0/gc.log/"+(object{}).name() {
		t.Errorf("the URL of %s leads to %q, want only its segment of gc.log", pods[1].Name, got)
	}
	if _, err := Pods(t.Context(), url+"&namespace=other"); !errors.Is(err, errNone) {
		t.Errorf("a namespace without segments: %v, want %v", err, errNone)
	}
}

// fetched returns the paths of the segments that are fetched, and checks their contents and times.
func fetched(t *testing.T, url string, since time.Time) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := Fetch(t.Context(), url, clock.Window{Since: since}, dir, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range filesIn(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, path))
		info, err2 := os.Stat(filepath.Join(dir, path))
		begun, _, _ := strings.Cut(filepath.Base(path), "-")
		if err != nil || err2 != nil || !strings.Contains(string(text), "/"+begun+"-") || !info.ModTime().Equal(noon.Add(3*time.Hour)) {
			t.Errorf("%s has %q from %s, errors %v and %v; want a key with its time, the time %s and no error", path, text, info.ModTime(), err, err2, noon.Add(3*time.Hour))
		}
		paths = append(paths, path)
	}
	return paths
}

func filesIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			path, err = filepath.Rel(dir, path)
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// A segment is left out if the next one of its stream was begun before the window. Marks are never left out.
func TestOnlySegmentsThatMayBeInTheWindowAreFetched(t *testing.T) {
	var objects []object
	for hour := range 3 {
		objects = append(objects, object{pod: "web-0", stream: "gc.log", hour: hour}, object{pod: "web-0", stream: mark.Stream, hour: hour}, object{pod: "web-1", stream: "gc.log", hour: hour})
	}
	url := bucketOf(t, objects...)
	if got := fetched(t, url, time.Time{}); len(got) != len(objects) {
		t.Errorf("without a window: %q, want all %d objects", got, len(objects))
	}
	name := func(hour int) string { return object{hour: hour}.name() }
	want := []string{"0/gc.log/" + name(1), "0/gc.log/" + name(2), "0/" + mark.Stream + "/" + name(0), "0/" + mark.Stream + "/" + name(1), "0/" + mark.Stream + "/" + name(2), "1/gc.log/" + name(1), "1/gc.log/" + name(2)}
	if got := fetched(t, url, noon.Add(90*time.Minute)); !slices.Equal(got, want) {
		t.Errorf("in the window: %q\nwant %q", got, want)
	}
}

// Segments that were begun after the window are fetched until one of them shows by its dates that the rest of its
// stream is later, as a reader of the stream would notice. Lines without a date show nothing, and a line of the window
// may have been shipped late.
func TestSegmentsAfterTheWindowAreNotFetched(t *testing.T) {
	dated := func(hour, n int) string {
		line := noon.Add(time.Duration(hour)*time.Hour).Format("[2006-01-02T15:04:05.000+0000]") + "[info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 3M->1M(8M) 1.000ms\n"
		return strings.Repeat(line, n)
	}
	undated := strings.Repeat("[1.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 3M->1M(8M) 1.000ms\n", 100)
	for name, c := range map[string]struct {
		hours [5]string // lines of the segments
		want  int       // segments that are fetched
	}{
		"dated":                       {[5]string{dated(0, 100), dated(1, 100), dated(2, 100), dated(3, 100), dated(4, 100)}, 3},
		"a few lines a segment":       {[5]string{dated(0, 100), dated(1, 100), dated(2, 10), dated(3, 10), dated(4, 10)}, 5},
		"the first lines came late":   {[5]string{dated(0, 100), dated(1, 100), dated(1, 1) + dated(2, 100), dated(3, 100), dated(4, 100)}, 4},
		"later lines without a date":  {[5]string{dated(0, 100), dated(1, 100), undated, dated(3, 100), dated(4, 100)}, 4},
		"nothing but undated lines":   {[5]string{undated, undated, undated, undated, undated}, 5},
		"a segment without any lines": {[5]string{dated(0, 100), dated(1, 100), "\n", dated(3, 100), dated(4, 100)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []object
			for hour, lines := range c.hours {
				objects = append(objects, object{pod: "web-0", stream: "gc.log", hour: hour, lines: lines}, object{pod: "web-0", stream: mark.Stream, hour: hour, lines: "a mark\n"})
			}
			dir := t.TempDir()
			if _, err := Fetch(t.Context(), bucketOf(t, objects...), clock.Window{Since: noon, Until: noon.Add(90 * time.Minute)}, dir, nil); err != nil {
				t.Fatal(err)
			}
			var marks, segments int
			for _, path := range filesIn(t, dir) {
				if strings.Contains(path, mark.Stream) {
					marks++
				} else if segments++; !strings.HasSuffix(path, (object{hour: segments - 1, lines: "x"}).name()) {
					t.Errorf("segment %d is %s, want no hole between the segments", segments, path)
				}
			}
			if segments != c.want || marks != len(c.hours) {
				t.Errorf("%d segments of the log and %d of marks were fetched, want %d and %d", segments, marks, c.want, len(c.hours))
			}
		})
	}
}

// FetchMarks fetches the segments of marks around the window. Of the segments of a log, it reads only the keys.
func TestMarksAroundTheWindowAreFetched(t *testing.T) {
	var objects []object
	for hour := range 6 {
		objects = append(objects, object{pod: "web-0", stream: "gc.log", hour: hour}, object{pod: "web-0", stream: mark.Stream, hour: hour})
	}
	objects = append(objects, object{pod: "web-1", stream: mark.Stream, hour: 1})
	url := bucketOf(t, objects...)
	name := func(hour int) string { return object{hour: hour}.name() }
	for _, c := range []struct {
		since, until int // minutes after noon; 0: none
		first, last  int // hours after noon, of the segments of the log
		want         []string
	}{
		{0, 0, 0, 5, []string{"0/" + mark.Stream + "/" + name(0), "0/" + mark.Stream + "/" + name(1), "0/" + mark.Stream + "/" + name(2), "0/" + mark.Stream + "/" + name(3), "0/" + mark.Stream + "/" + name(4), "0/" + mark.Stream + "/" + name(5), "1/" + mark.Stream + "/" + name(1)}},
		{90, 170, 1, 5, []string{"0/" + mark.Stream + "/" + name(1), "0/" + mark.Stream + "/" + name(2), "0/" + mark.Stream + "/" + name(3), "1/" + mark.Stream + "/" + name(1)}},
		{90, 160, 1, 5, []string{"0/" + mark.Stream + "/" + name(1), "0/" + mark.Stream + "/" + name(2), "1/" + mark.Stream + "/" + name(1)}},
	} {
		var w clock.Window
		if c.since > 0 {
			w = clock.Window{Since: noon.Add(time.Duration(c.since) * time.Minute), Until: noon.Add(time.Duration(c.until) * time.Minute)}
		}
		dir := t.TempDir()
		containers, logs, err := FetchMarks(t.Context(), url, w, dir)
		if got := filesIn(t, dir); err != nil || len(containers) != 2 || !slices.Equal(got, c.want) || len(logs) != 1 || logs[filepath.Join(dir, "0")] != hours(c.first, c.last) {
			t.Errorf("from minute %d to %d: %q in %d containers, log %v, error %v; want %q in 2 containers, log %v", c.since, c.until, got, len(containers), logs, err, c.want, hours(c.first, c.last))
		}
	}
}

// hours returns the window between two times, both given in hours after noon.
func hours(first, last int) clock.Window {
	return clock.Window{Since: noon.Add(time.Duration(first) * time.Hour), Until: noon.Add(time.Duration(last) * time.Hour)}
}

// The clock was set forward by four hours and back again: the segments begun in between come last in the bucket, although
// their numbers are lower than those of others. Without them, a reader would find a hole.
func TestSegmentsOfAWrongClockAreFetched(t *testing.T) {
	var objects []object
	for number, hour := range []int{1: 0, 2: 6, 3: 7, 4: 2, 5: 3} {
		if number == 0 {
			continue
		}
		line := noon.Add(time.Duration(hour)*time.Hour).Format("[2006-01-02T15:04:05.000+0000]") + "[info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 3M->1M(8M) 1.000ms\n"
		objects = append(objects, object{pod: "web-0", stream: "gc.log", hour: hour, number: number, lines: strings.Repeat(line, 100)})
	}
	dir := t.TempDir()
	if _, err := Fetch(t.Context(), bucketOf(t, objects...), clock.Window{Until: noon.Add(90 * time.Minute)}, dir, nil); err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for _, path := range filesIn(t, dir) {
		_, number, _ := strings.Cut(path, "-")
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	if want := []string{"000001.log", "000002.log", "000003.log", "000004.log"}; !slices.Equal(numbers, want) {
		t.Errorf("fetched %q, want %q", numbers, want)
	}
}

// After the clock was set back, an older segment comes later in the bucket, and may have lines of the window.
func TestSegmentsBeforeAStepOfTheClockAreFetched(t *testing.T) {
	url := bucketOf(t, object{pod: "web-0", stream: "gc.log", hour: 0, number: 2}, object{pod: "web-0", stream: "gc.log", hour: 1, number: 1})
	if got := fetched(t, url, noon.Add(90*time.Minute)); len(got) != 2 {
		t.Errorf("fetched %q, want both segments: the one with number 2 may have lines of the window", got)
	}
}

// Two pods had the same name, one after the other, and the destination of each ended with it.
func TestSegmentsOfPodsWithOneNameComeOneAfterTheOther(t *testing.T) {
	var objects []object
	for hour, number := range []int{1, 2, 3, 1, 2, 3, 4} {
		objects = append(objects, object{pod: "db-0", stream: "gc.log", hour: hour, number: number})
	}
	for _, c := range []struct {
		since time.Time
		from  int // the first segment that is fetched, counted from 0
	}{{time.Time{}, 0}, {noon.Add(150 * time.Minute), 2}} {
		got := fetched(t, bucketOf(t, objects...), c.since)
		var want []string
		for hour := c.from; hour < len(objects); hour++ {
			want = append(want, "0/gc.log/"+object{hour: hour}.name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("since %v: %q\nwant %q", c.since, got, want)
		}
	}
}

// The content of a bucket is not trusted.
func TestABadBucketIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		of   object
		want string
	}{
		"a segment is shorter than listed": {object{pod: "web-0", stream: "gc.log", cut: 3}, "unexpected EOF"},
		"a stream that leads out":          {object{pod: "web-0", stream: ".."}, "begins with a dot"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := Fetch(t.Context(), bucketOf(t, c.of), clock.Window{}, filepath.Join(dir, "in"), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			for _, path := range filesIn(t, dir) {
				if !strings.HasPrefix(path, "in/0/gc.log/") {
					t.Errorf(`%s was written, want "in/0/gc.log/" at its start`, path)
				}
			}
		})
	}
}

// If the segments do not fit, none of them is fetched: they would fill a file system that other programs use.
func TestSegmentsThatDoNotFitAreNotFetched(t *testing.T) {
	const exbibyte = 1 << 60
	dir := t.TempDir()
	url := bucketOf(t, object{pod: "web-0", stream: "gc.log"}, object{pod: "web-0", stream: "gc.log", hour: 1, listed: 7 * exbibyte}, object{pod: "web-1", stream: "gc.log", listed: 7 * exbibyte})
	_, err := Fetch(t.Context(), url, clock.Window{}, dir, nil)
	if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "take 8192 PiB, and "+dir+" has ") {
		t.Errorf("error %v, want that there is no room for 8192 PiB", err)
	}
	if files := filesIn(t, dir); files != nil {
		t.Errorf("%q were written, want no file", files)
	}
}
