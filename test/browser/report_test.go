package browser

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// day creates a destination with the log of a JVM over a day and the marks of its sidecar: a gap, a restart, a raised
// level, a crash, and text that tries to be HTML.
func day(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	begin := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	boot := begin
	line := func(at time.Time, tags, format string, args ...any) {
		fmt.Fprintf(&b, "[%s][%.3fs][info][%s] ", at.Format("2006-01-02T15:04:05.000-0700"), at.Sub(boot).Seconds(), tags)
		fmt.Fprintf(&b, format+"\n", args...)
	}
	start := func(at time.Time) {
		boot = at
		line(at, "gc,init", "Version: 25.0.3+9 <script>document.title='owned'</script>")
		line(at, "gc", "Using G1")
		line(at, "gc,init", "Heap Region Size: 1M")
	}
	start(begin)
	gc := 0
	for i := range 20_000 {
		at := begin.Add(time.Duration(i) * 4320 * time.Millisecond)
		if i == 12_000 {
			start(at)
			gc = 0
		}
		name, ms := "Young (Normal) (G1 Evacuation Pause)", 3+2*math.Sin(float64(i)/700)+float64(i*7919%100)/40
		switch {
		case i%4000 == 1777:
			name, ms = "Full (System.gc())", 400
		case i%50 == 7:
			name, ms = "Remark", ms/3
		}
		before, after := 200+i%300, 100+i%150
		line(at, "gc", "GC(%d) Pause %s %dM->%dM(1024M) %.3fms", gc, name, before, after, ms)
		line(at, "gc,cpu", "GC(%d) User=0.01s Sys=0.00s Real=%.2fs", gc, ms/1000)
		line(at, "safepoint", `Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: %d ns, At safepoint: %d ns, Total: %d ns`,
			20_000, int(ms*1e6)+10_000, int(ms*1e6)+30_000)
		if i == 5000 {
			fmt.Fprintf(&b, "[%s][warning][ullage] gap: 12 lines, 999 bytes dropped in 600.000s: discard info=12\n", at.Format("2006-01-02T15:04:05.000-0700"))
		}
		gc++
	}
	mark := func(hour int, level, text string) string {
		return fmt.Sprintf("[2026-11-20T%02d:00:00.000+0000][%s][ullage] mark: %s\n", hour, level, text)
	}
	dest := t.TempDir()
	for stream, text := range map[string]string{"gc.log": b.String(), "ullage.log": mark(9, "info", `level-raised stream=gc.log pid=1 selection=gc*=debug why="annotation ullage.dev/log"`) +
		mark(11, "info", "level-restored stream=gc.log pid=1 selection=gc*=debug") + mark(14, "warning", "jvm-ended stream=gc.log pid=1 how=crashed") + mark(20, "info", "sidecar-started version=v1 after=kill")} {
		dir := filepath.Join(dest, stream)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "20261120T000000.000Z-000001.log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dest
}

// overlaps lists texts of charts that overlap or leave their chart, and parts of the page that are empty or wider
// than the page.
const overlaps = `(() => {
	const bad = [], box = e => e.getBoundingClientRect();
	for (const chart of document.querySelectorAll(".chart")) {
		const all = [...chart.querySelectorAll("text")], c = box(chart);
		if (all.length < 4) bad.push(chart.className + ": no axes");
		all.forEach((e, i) => {
			const a = box(e);
			if (a.left < c.left - 1 || a.right > c.right + 1 || a.top < c.top - 1 || a.bottom > c.bottom + 1) bad.push(chart.className + ": outside: " + e.textContent);
			for (const other of all.slice(i + 1)) {
				const b = box(other);
				if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) bad.push(chart.className + ": " + e.textContent + " over " + other.textContent);
			}
		});
	}
	for (const e of document.querySelectorAll("section, .tiles div, .status")) if (box(e).height < 20 || !e.textContent.trim()) bad.push("empty: " + e.outerHTML.slice(0, 80));
	const wide = document.documentElement;
	if (wide.scrollWidth > wide.clientWidth) bad.push("the page is " + wide.scrollWidth + " wide, in " + wide.clientWidth);
	const tiles = [...document.querySelectorAll(".tiles dd, .tiles dt")];
	for (const e of tiles) if (e.scrollWidth > e.clientWidth + 1) bad.push("tile: " + e.textContent);
	return bad;
})()`

func TestTheReportOfADay(t *testing.T) {
	address := page(t, day(t))
	stat, err := os.Stat(strings.TrimPrefix(address, "file://"))
	if err != nil || stat.Size() > 2<<20 {
		t.Fatalf("the page has %d bytes, want at most 2 MiB: %v", stat.Size(), err)
	}
	b := Start(t)
	for _, v := range views {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel() // pages wait more than they work
			p := b.Open(t, address, v)
			p.isInOrder()
			p.Picture("report-day-" + v.String())
		})
	}
	p := b.Open(t, address, View{Width: 1280, Height: 900})
	t.Logf("%d bytes, ready after %.0f ms", stat.Size(), value[float64](p, `performance.getEntriesByType("navigation")[0].loadEventEnd`))
	if title := value[string](p, `document.title`); !strings.HasPrefix(title, "JVM pauses: ") {
		t.Errorf(`the title is %q, want "JVM pauses: " at its start`, title)
	}
	marks(t, p)
	zoom(t, p)
	p = b.Open(t, address, View{Width: 800, Height: 1100, Print: true})
	p.isInOrder()
	p.Picture("report-day-print")
}

// isInOrder fails the test with the faults of the charts and of the page.
func (p *Page) isInOrder() {
	p.tb.Helper()
	for _, fault := range value[[]string](p, overlaps) {
		p.tb.Errorf("%s: %s", p.url, fault)
	}
	p.Inspect()
}

// marks checks the drawn marks.
func marks(t *testing.T, p *Page) {
	t.Helper()
	for what, least := range map[string]int{".k-young.mark": 200, ".k-full.mark": 3, ".k-concurrent.mark": 50, ".b-dropped.band": 1, ".b-restart.band": 1,
		".b-raised.band": 1, ".b-crash.band": 1, ".b-sidecar.band": 1, "details li": 5, ".heap .before": 200, ".sizes svg": 3,
		".bars .column": 3, ".heap .after": 200, ".causes tbody tr": 3, ".longest tbody tr": 10, ".legend span": 5} {
		if n := value[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", what)); n < least {
			t.Errorf("%d elements match %s, want at least %d", n, what, least)
		}
	}
	outside := value[int](p, `(() => {
		const f = document.querySelector(".timeline .frame").getBoundingClientRect();
		return [...document.querySelectorAll(".timeline .mark, .timeline .band")].map(e => e.getBoundingClientRect()).filter(b => b.left && (b.right < f.left || b.left > f.right ||
			b.top < f.top - 6 || b.bottom > f.bottom + 6)).filter(b => b.top < f.bottom + 50).length;
	})()`)
	if outside > 0 {
		t.Errorf("%d marks are outside of the frame, want 0", outside)
	}
	if text := value[string](p, `document.querySelector(".status").textContent`); !strings.Contains(text, "Not complete") {
		t.Errorf(`the status is %q, want "Not complete" in it`, text)
	}
}

// zoom checks that the keyboard, a button and the pointer change the view.
func zoom(t *testing.T, p *Page) {
	t.Helper()
	count := func() int { return value[int](p, `document.querySelectorAll(".mark title").length`) }
	first := func() string {
		return value[string](p, `document.querySelector(".timeline .tick").textContent + document.querySelectorAll(".mark").length`)
	}
	p.Eval(`document.querySelector(".timeline").focus()`, nil)
	all, before := first(), count()
	for _, press := range []struct{ keys, what string }{{"++++", "plus"}, {kb.ArrowRight, "right"}, {"-", "minus"}} {
		was := first()
		p.Press(press.keys)
		if now := first(); now == was {
			t.Errorf("%s: the view is still %s, want another one", press.what, now)
		}
	}
	p.Press("0")
	if first() != all || count() != before {
		t.Error("after the key 0, the page does not show the first view, want it again")
	}
	p.Eval(`document.querySelector('button[data-do="in"]').click()`, nil)
	if first() == all {
		t.Error("after a click on the zoom button, the view is the first one, want another one")
	}
	was := first()
	left := value[int](p, `(() => {
		const e = document.querySelector(".timeline"), b = e.getBoundingClientRect();
		const send = (type, x) => e.dispatchEvent(new PointerEvent(type, {clientX: b.left + x, clientY: b.top + 50, button: 0, pointerId: 1, bubbles: true}));
		e.setPointerCapture = () => {};
		send("pointerdown", 200); send("pointermove", 260); send("pointerup", 300);
		return document.querySelectorAll(".select").length;
	})()`)
	if left != 0 || first() == was {
		t.Errorf("after a drag, %d areas are left, want 0 and another view than %s", left, was)
	}
}

// TestReportsOfEveryCollector views reports of real logs: short ones, some without dates or without any time, and two
// side by side.
func TestReportsOfEveryCollector(t *testing.T) {
	const dir = "../../internal/line/pause/testdata/"
	logs, err := filepath.Glob(dir + "*-jdk25.log") // logs of other releases have other lines, but make the same page
	if err != nil || len(logs) < 8 {
		t.Fatalf("%d logs, want at least 8: %v", len(logs), err)
	}
	b := Start(t)
	show := func(name string, v View, args ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.Open(t, page(t, args...), v)
			p.isInOrder()
			p.Picture("report-" + name)
			p.Close()
		})
	}
	for i, path := range logs {
		show(strings.TrimSuffix(filepath.Base(path), ".log"), views[i%len(views)], path)
	}
	show("compare", View{Width: 1280, Height: 900}, "--compare", dir+"g1-jdk17.log", dir+"z-jdk25.log")
	show("compare-wide", View{Width: 1920, Height: 1080, Dark: true}, "--compare", dir+"g1-jdk17.log", dir+"z-jdk25.log")
}

// page creates a report of logs and returns its address.
func page(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "ullage"), append([]string{"report", "--output", path}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ullage report: %v\n%s", err, out)
	}
	return "file://" + path
}

// value returns the value of an expression in the page.
func value[T any](p *Page, expression string) (v T) {
	p.tb.Helper()
	p.Eval(expression, &v)
	return v
}
