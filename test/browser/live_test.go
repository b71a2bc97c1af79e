package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// views are the views in which each page is inspected.
var views = []View{
	{Width: 360, Height: 800}, {Width: 360, Height: 800, Dark: true},
	{Width: 820, Height: 1100}, {Width: 1920, Height: 1080}, {Width: 1920, Height: 1080, Dark: true},
}

// String returns the view's part of the name of a picture.
func (v View) String() string {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	return fmt.Sprintf("%d-%s", v.Width, scheme)
}

// sidecar starts `ullage run` with a JVM that collects garbage at a raised level. It returns the sidecar with its
// base URL. The source contains a file with a hostile name and hostile lines.
func sidecar(t *testing.T) (*lab.Sidecar, string) {
	t.Helper()
	c := collecting{
		tmpfs: "32m",
		notes: "ullage.dev/log=\"gc*=debug,safepoint=info\"\nullage.dev/log-for=\"10m\"\nullage.dev/xlog-typo=\"<b>x</b>\"\nullage.dev/trigger=\"pause>5s\"\n",
		flags: []string{"--sync-interval", "200ms"},
		heap:  []string{"-Xmx64m", "-Xmn8m"},
		rate:  "100",
	}
	side, url := c.start(t)
	hostileFile(t, c.source)
	return side, url
}

// collecting is a sidecar with a JVM that collects garbage.
type collecting struct {
	tmpfs string   // the size of the source
	notes string   // the annotations
	flags []string // additional flags of the sidecar
	heap  []string // the JVM's options for its heap
	rate  string   // MiB of garbage a second

	source, dest string // made by start
}

// start starts both and returns the sidecar and its base URL.
func (c *collecting) start(t *testing.T) (side *lab.Sidecar, url string) {
	t.Helper()
	jdks := lab.NeedsJDKs(t)
	dir := t.TempDir()
	classes, err := jvm.Compile(jdks[0], filepath.Join(dir, "java"))
	if err != nil {
		t.Fatal(err)
	}
	c.source, c.dest = lab.Tmpfs(t, c.tmpfs), filepath.Join(dir, "durable")
	notes := filepath.Join(dir, "annotations")
	if err := os.WriteFile(notes, []byte(c.notes), 0o644); err != nil {
		t.Fatal(err)
	}
	side, err = lab.Start(filepath.Join(programs, "ullage"), append([]string{"run", "--source", c.source, "--dest", c.dest, "--listen", "127.0.0.1:0",
		"--annotations", notes, "--attach", "process-namespace"}, c.flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	out := jvm.Output{Selection: "gc*=info,safepoint=info", File: filepath.Join(c.source, "gc.log"), Decorations: "time,uptime,level,tags"}
	java, err := jvm.Start(jdks[len(jdks)-1], slices.Concat(c.heap, []string{"-XX:+StartAttachListener", "-cp", classes, out.Flag(), "Churn", "600000", c.rate})...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(java.Kill)
	addr, err := side.Addr(patience)
	if err != nil {
		t.Fatal(err)
	}
	return side, "http://" + addr + "/"
}

// hostileFile creates a file whose name and lines try to be HTML. It grows as long as the test runs, because a
// finished stream is not listed.
func hostileFile(t *testing.T, source string) {
	t.Helper()
	f, err := os.Create(filepath.Join(source, "<img src=x onerror=alert(1)>.log"))
	if err != nil {
		t.Fatal(err)
	}
	grow := time.NewTicker(100 * time.Millisecond)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-grow.C:
				_, _ = f.WriteString("[0.1s][info][gc] <script>alert(1)</script>\n")
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		grow.Stop()
		f.Close()
	})
}

// TestLivePageBesideAJVM views the page of a real sidecar of a real JVM, at several sizes, light and dark.
func TestLivePageBesideAJVM(t *testing.T) {
	_, url := sidecar(t)
	b := Start(t)
	for _, v := range views {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel() // pages wait more than they work
			p := b.Open(t, url, v)
			p.Await("it is ready", `document.querySelector('#state').textContent === 'ready'`)
			p.Await("lines are persisted", `/lines\/s$/.test(document.querySelector('#rate').textContent) && document.querySelector('#rate').textContent !== '0 lines/s'`)
			p.Await("the level is raised", `document.querySelector('#level').textContent === 'raised' && document.querySelector('#levels').textContent.includes('gc*=debug')`)
			p.Await("pauses are listed and drawn", `document.querySelectorAll('#pauses tbody tr').length >= 5 && document.querySelectorAll('#pause-chart line').length >= 5`)
			p.Await("both curves are drawn", `document.querySelectorAll('svg path.curve').length === 2`)
			p.Await("two levels are counted", `document.querySelectorAll('#by-level tbody tr').length >= 2`)
			p.Await("both streams are there", `document.querySelector('#streams').textContent.includes('<img src=x onerror=alert(1)>.log') && document.querySelector('#streams').textContent.includes('gc.log')`)
			p.Await("the bad annotation is shown", `document.querySelector('#errors').textContent.includes('<b>x</b>')`)
			atAGlance(p)
			p.Inspect()
			p.Picture("live-" + v.String())
		})
	}
}

// A sidecar that waits for the first log has no stream.
func TestLivePageBeforeTheFirstLog(t *testing.T) {
	side, err := lab.Start(filepath.Join(programs, "ullage"), "run", "--source", lab.Tmpfs(t, "32m"), "--dest", t.TempDir(), "--listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	addr, err := side.Addr(patience)
	if err != nil {
		t.Fatal(err)
	}
	p := Start(t).Open(t, "http://"+addr+"/", views[0])
	p.Await("it is ready", `document.querySelector('#state').textContent === 'ready'`)
	p.Await("nothing needs attention", `document.querySelector('#problems').hidden`)
	p.Await("it says that there is no file", `document.querySelector('#no-streams').textContent === 'No files are in the source now.'`)
	p.Await("all cards are filled", `document.querySelector('#asked').textContent.startsWith('as of ')`)
	p.Inspect()
}

// atAGlance fails if a table must be scrolled sideways, or if the time of a pause or of
// a gap is not on one line.
func atAGlance(p *Page) {
	p.tb.Helper()
	p.Await("no table is wider than its card", `[...document.querySelectorAll('.scroll')].every((el) => el.scrollWidth <= el.clientWidth + 1)`)
	p.Await("times are not broken", `[...document.querySelectorAll('#pauses td:first-child, #gaps td:first-child')].every((el) => {
		const text = document.createRange();
		text.selectNodeContents(el);
		return text.getClientRects().length === 1;
	})`)
}

// The page shows everything it can, in long texts that try to be HTML.
func TestLivePageOfASidecarInTrouble(t *testing.T) {
	url := trouble(t)
	b := Start(t)
	for _, v := range views {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel() // pages wait more than they work
			p := b.Open(t, url, v)
			p.Await("the state is shown", `document.querySelector('#state').textContent.startsWith('not ready: ')`)
			for selector, want := range map[string]int{
				"#pauses tbody tr": 10, "#pause-chart line": admin.MaxPauses, "#pause-chart line.bad": 5, "#gaps tbody tr": 10, "#by-level tbody tr": 6,
				"#streams tbody tr": 20, "#sinks tbody tr": 2, "#loss.bad-text, #sinks .bad-text": 2, "img, b b, main script": 0,
			} {
				var got int
				if p.Eval(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &got); got != want {
					t.Errorf("%d elements match %s, want %d", got, selector, want)
				}
			}
			var text string
			p.Eval("document.body.innerText", &text)
			for _, want := range []string{
				"dropping lines now", "98,765 lines, 12.0 MiB", "42 events that a full ring refused", "ring app.ring: " + hostile, "100 µs", "1,234,567 lines", "12.3 ms", "57.0 MiB of 64.0 MiB used, 89 %", "compressed past 25 %", "A JVM crashed since the start: ullage logs --stream 'hs_err*' prints the report", "7.00 MiB free", "2 entries of the source ignored: symlink", "raised", "no space left on device",
				"io-stall", "sink archive: ", "and 190 more streams", hostile, "pause>500ms, not armed: " + hostile, "JVM 7", "back to 20",
			} {
				if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			p.Await("the crash comes first, and the bar shows what is used", `(() => {
				const bar = document.querySelector('#used-meter');
				return document.querySelector('main > section:not([hidden]) li').textContent.startsWith('A JVM crashed')
					&& Math.abs(bar.firstElementChild.getBoundingClientRect().width / bar.clientWidth - 57 / 64) < 0.02;
			})()`)
			p.Await("what happens now stands out", `getComputedStyle(document.querySelector('#loss')).color === getComputedStyle(document.querySelector('#sinks .bad-text')).color`)
			atAGlance(p)
			p.Inspect()
			p.Picture("live-trouble-" + v.String())
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// With only the keyboard, a user can stop the page's requests. The page says when the sidecar does not answer, and
// continues when it answers again.
func TestLivePageStopsAndRecovers(t *testing.T) {
	side, url := sidecar(t)
	p := Start(t).Open(t, url, View{Width: 1000, Height: 800})
	p.Await("it is ready", `document.querySelector('#state').textContent === 'ready'`)
	p.Press(kb.Tab)
	p.Await("the button has the focus", `document.activeElement.id === 'stop'`)
	p.Press(kb.Enter)
	p.Await("the button is pressed", `document.querySelector('#stop').getAttribute('aria-pressed') === 'true'`)
	// The answer to a request under way arrives, but the page sends no further request.
	var before, after int
	const asked = `new Promise((done) => setTimeout(() => done(performance.getEntriesByType('resource').length), 2500))`
	p.Eval(asked, &before)
	if p.Eval(asked, &after); after != before {
		t.Errorf("the stopped page sent %d requests, want 0", after-before)
	}
	p.Press(kb.Enter)
	p.Await("it asks again", fmt.Sprintf(`performance.getEntriesByType('resource').length > %d`, before))
	side.Kill()
	p.Await("it says so", `document.querySelector('#state').textContent.startsWith('no answer')`)
	p.Inspect()
	p.Close()
	p.Forgive() // requests to a server that is gone fail
}

// sockets counts the sockets of a sidecar: its listener, the connections of its clients, and occasionally one to a
// JVM.
func sockets(t *testing.T, side *lab.Sidecar) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", side.PID())
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// A descriptor closed since the directory was read is not counted.
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// Ten open pages, each with its own connections, must leave room for probes and scrapers.
func TestTenOpenPagesLockNobodyOut(t *testing.T) {
	side, url := sidecar(t)
	b := Start(t)
	idle, err := side.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		p := b.Open(t, url, View{Width: 400, Height: 400})
		p.Await("it is ready", `document.querySelector('#state').textContent === 'ready'`)
	}
	most := 0
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		most = max(most, sockets(t, side))
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			if code, _, err := side.Get(path); err != nil || code != http.StatusOK {
				t.Fatalf("%s: code %d, error %v; want %d and no error", path, code, err, http.StatusOK)
			}
		}
	}
	peak, err := side.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %.1f MiB before, %.1f MiB and %d sockets with ten pages", float64(idle)/(1<<20), float64(peak)/(1<<20), most)
	// The sidecar accepts 32 connections. It also has its listener and a socket to a JVM.
	if most < 10 || most > 32+2 {
		t.Errorf("%d sockets with ten pages, want 10 to 34", most)
	}
	if peak > idle+8<<20 {
		t.Errorf("ten pages take %d bytes of memory, want at most %d", peak-idle, 8<<20)
	}
}

const hostile = `</script><img src=x onerror=alert(1)>&lt;é\u202e`

// trouble serves the page of a sidecar with all possible problems. It returns the URL.
func trouble(t *testing.T) string {
	t.Helper()
	began := time.Now().Add(-26 * time.Hour)
	s, err := admin.New(admin.Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), admin.Answers{
		Status: func() any { return troubled(began) },
		Recent: func() admin.Recent { return troubledEvents() },
	}, (&lab.Journal{}).Logger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr().String() + "/"
}

func troubled(began time.Time) admin.Status {
	long := strings.Repeat("a-very-long-name-", 8)
	st := admin.Status{
		Version: "v0.1.0-rc.1", Started: began, UptimeSeconds: time.Since(began).Seconds(), Where: admin.Where{Pod: "web-7c9f6d5b8-x2x4l", Source: "/var/log/jvm", Destination: "/var/lib/ullage/prod/web"},
		Reason: "the destination stalls: a line has waited for 1m3s " + hostile, Reclaim: admin.Reclaim{Mode: "unlink", Why: "punching holes is not permitted"}, Compress: "zstd",
		Space: admin.Space{BacklogBytes: 912 << 20, SpooledBytes: 900 << 20, HeadroomBytes: 7 << 20, BudgetBytes: 64 << 20, BudgetUsedBytes: 57 << 20, QueueUsedBytes: 4 << 20, QueueCapacityBytes: 4 << 20,
			Rings: []admin.Ring{{Name: "app.ring", Problem: hostile}}},
		Progress: admin.Progress{LagSeconds: 63.2, LastCommit: time.Now().Add(-63 * time.Second)},
		Lines: admin.Lines{
			Persisted: admin.Volume{Lines: 1234567, Bytes: 150 << 20}, Dropped: admin.Volume{Lines: 98765, Bytes: 12 << 20}, Dropping: "discard",
			ByLevel:   map[string]int64{"error": 1, "warning": 23, "info": 456789, "debug": 700000, "trace": 70000, "unknown": 7754},
			DroppedBy: map[string]map[string]int64{"discard": {"info": 765, "debug": 90000}, "drop": {"warning": 8000}},
			Events:    1000, EventsDropped: 42,
			JVMLost: admin.JVMLost{Async: 12, Cut: 3}, JVMCrashes: 1,
		},
		Held:              admin.Held{Reaches: began.Add(-48 * time.Hour), Segments: 321, DeletedSegments: 12, CutBytes: 4096, FreeBytes: 0},
		DestinationErrors: admin.Errors{Count: 77, Last: "append: write /var/lib/ullage/gc.log/20261123T060000.000Z-000001.log.zst: no space left on device", LastAt: time.Now()},
		Ignored:           map[string]int64{"symlink": 2, "fifo": 1},
		Sinks: []admin.Sink{{Name: "archive", URL: "s3://logs/prod?endpoint=https://objects.example", LagSeconds: 4000, BacklogBytes: 1 << 30, Segments: 12, Failure: "the bucket does not exist " + hostile},
			{Name: "kafka", URL: "kafka://broker.example:9093/jvm", Lines: 1000000, RejectedLines: 3}},
		Levels: &admin.Levels{
			Raise:       &admin.Raise{Cause: "annotation", Why: "annotation ullage.dev/log", Selection: "gc*=debug,safepoint*=trace", Stream: "gc*.log", Since: time.Now(), Until: time.Now().Add(9 * time.Minute)},
			JVMs:        []admin.JVM{{PID: 1, Applied: "gc*=debug,safepoint*=trace", Outputs: []string{"file=/var/log/jvm/gc-1.log"}}, {PID: 7, Error: "attach: permission denied " + hostile, Kind: "not_permitted"}},
			Annotations: []admin.Annotation{{Key: "ullage.dev/logg", Value: hostile, Problem: "unknown"}}, Errors: []string{"attach to pid 7: permission denied"},
			Trigger:   &admin.Trigger{Conditions: "pause>500ms", Disarmed: hostile, Never: "it is off", Missed: 5},
			OtherLogs: []string{"pid 1: /data/gc.log"},
		},
	}
	for i := range admin.MaxStreams {
		name := fmt.Sprintf("gc-%d.log", i)
		if i == 0 {
			name = hostile + long
		}
		st.Streams = append(st.Streams, admin.Stream{Name: name, Files: 2, BacklogBytes: int64(1000-i) << 10, PersistedLines: 1234, PersistedBytes: 1 << 20, DroppedLines: int64(i)})
	}
	st.StreamsOmitted = 10
	st.Streams[1].Refused = "its directory belongs to another user"
	return st
}

func troubledEvents() (r admin.Recent) {
	now := time.Now()
	for i := range admin.MaxPauses {
		p := admin.Pause{At: now.Add(-time.Duration(admin.MaxPauses-i) * 7 * time.Second), Name: "Young (Normal) (G1 Evacuation Pause)", Seconds: 0.0123, ReachSeconds: 0.0001}
		if i%10 == 9 {
			p.Name, p.Seconds, p.Verdict = "Full (G1 Compaction Pause) "+hostile, 4.2, "io-stall"
		}
		r.Pauses = append(r.Pauses, p)
	}
	for i := range admin.MaxGaps {
		at := now.Add(-time.Duration(admin.MaxGaps-i) * time.Minute)
		r.Gaps = append(r.Gaps, admin.Gap{Stream: "gc.log " + hostile, First: at, Last: at.Add(12 * time.Second), Lines: 1290, Bytes: 123456, ByLevel: map[string]int64{"info": 1200, "debug": 90}})
	}
	return r
}
