package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
)

// jvm writes a log that consists mostly of plain lines.
type jvm struct {
	*rand.Rand
	now time.Time
	up  time.Duration
}

// odd are lines that a plain log does not have.
var odd = []string{
	"[1.000s][info][gc] without a date\n",
	"[9999-11-22T10:00:01.000+0000][1.000s][info][gc] an implausible date\n",
	"\tat a.line.of(a.Stack:7)\n", "text\n", "\n", "2026-11-20 10:00:07 [main] WARN x - y\n",
	`{"@timestamp":"2026-11-20T10:00:07Z","level":"ERROR"}` + "\n",
	"[2026-11-20T10:00:00.000+0000][warning][ullage] gap: 7 lines, 99 bytes dropped in 0.100s: discard debug=7\n",
	"[2026-11-20T10:00:00.000+0000][1.000s][info][gc] cu[2026-11-20T10:00:09.000+0000][10.000s][info][gc] another line\n",
	"[2026-11-20T10:00:00.000+0000][1.0[2026-11-20T10:00:09.000+0000][10.000s][info][gc] cut in its decorations\n",
	"[2026-11-20T10:00:00.000+0000][2026-11-20T10:00:00.000+0000][1.000s][info][gc] two clocks\n",
	"[2026-11-20T10:00:00.000+0000][1.000s][warning]      7 messages dropped due to async logging\n",
	"[2026-11-20T10:00:00.000+0000][1.000s][in valid] x\n", string(ul.AppendShortened(nil, time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), ul.Info)), "[info][gc] x\n", "[      ][    ] blank\n",
	"[2026-11-20T10:00:00.000+0000][0.001s][info][gc] another JVM\n",
	"[2026-11-20T10:00:00.000+0000][info][gc] without an uptime\n",
}

// line returns the next line.
func (j *jvm) line(odds float64) string {
	switch n := j.Float64(); {
	case n < odds:
		return odd[j.IntN(len(odd))]
	case n < 0.1:
		return " more of it\n"
	case n < 0.1+odds:
		j.up = 0
	}
	step := time.Duration(j.IntN(300)-50) * time.Millisecond // threads write out of order
	j.now, j.up = j.now.Add(step), max(0, j.up+step)
	return fmt.Sprintf("%s[%.3fs][%-5s][gc,heap] %x\n", j.now.Format("[2006-01-02T15:04:05.000-0700]"), j.up.Seconds(),
		ul.Level(1+j.IntN(ul.NumLevels-1)), j.Uint64())
}

// The result of a check is the same with and without the sums that the writer recorded.
func TestASumStandsForTheLines(t *testing.T) {
	passed := 0
	for seed := range uint64(30) {
		j := &jvm{Rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
		begun, odds := j.now, []float64{0, 0.0001, 0.002}[seed%3]
		c := newCopied(t, segment.None, 20*settings.Ki)
		s := c.stream("gc.log")
		for range 60 {
			var raw strings.Builder
			for range 1 + j.IntN(100) {
				raw.WriteString(j.line(odds))
			}
			text := raw.String()
			if j.Float64() < odds*10 {
				text = text[:len(text)-1-j.IntN(3)] // the last line continues in the next frame
			}
			c.commit(s, text)
		}
		c.store.SealAll()
		took := j.now.Sub(begun)
		for _, cfg := range []Config{{}, {Since: begun.Add(took / 4)}, {Until: begun.Add(took / 2)}, {Since: begun.Add(took / 3), Until: begun.Add(took * 2 / 3)},
			{Formats: format.Rules{{Glob: "*", Format: format.Plain}}}} {
			passed += c.compare(cfg)
		}
	}
	if passed < 150 {
		t.Errorf("only %d segments were not decoded, want at least 150", passed)
	}
}

// compare runs a check with and without the sums and returns how many segments did not have to be decoded.
func (c *copied) compare(cfg Config) (passed int) {
	c.t.Helper()
	with, sum := c.check(cfg)
	passed = c.passed(cfg)
	path := filepath.Join(c.dir, "gc.log", index.Name)
	file, err := os.ReadFile(path)
	c.must(err)
	c.must(os.Remove(path))
	without, total := c.check(cfg)
	c.must(os.WriteFile(path, file, 0o640))
	if d := cmp.Diff(without, with, cmp.AllowUnexported(results{})); d != "" {
		c.t.Fatalf("%+v: (-decoded +summed up)\n%s", cfg, d)
	}
	if d := cmp.Diff(total, sum); d != "" {
		c.t.Fatalf("%+v: (-decoded +summed up)\n%s", cfg, d)
	}
	return passed
}

// passed returns how many segments are not decoded.
func (c *copied) passed(cfg Config) (n int) {
	s := newStream("gc.log", filepath.Join(c.dir, "gc.log"), cfg, &results{})
	s.sums = index.Read(s.dir)
	s.source.Pass = func(seg segment.Info) bool {
		ok := s.pass(seg)
		if ok {
			n++
		}
		return ok
	}
	c.must(s.check(c.t.Context()))
	return n
}

// A sum is used only for exactly the bytes that it describes: a check with sums finds the same
// damage as a check without them.
func TestASumOfOtherBytes(t *testing.T) {
	for name, change := range map[string]func(c *copied, path string) error{
		"a wrong bit": func(c *copied, path string) error {
			text, err := os.ReadFile(path)
			c.must(err)
			text[len(text)/2] ^= 4
			return os.WriteFile(path, text, 0o640)
		},
		"cut off": func(c *copied, path string) error { return os.Truncate(path, 5000) },
		"longer": func(c *copied, path string) error {
			text, err := os.ReadFile(path)
			c.must(err)
			return os.WriteFile(path, append(text, text[:100]...), 0o640)
		},
		"deleted": func(_ *copied, path string) error { return os.Remove(path) },
		"another": func(c *copied, path string) error {
			return os.WriteFile(path, []byte("not a frame"), 0o640)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCopied(t, segment.Zstd, 20*settings.Ki)
			s := c.stream("gc.log")
			j := &jvm{Rand: rand.New(rand.NewPCG(7, 1)), now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
			for range 30 {
				var raw strings.Builder
				for range 300 {
					raw.WriteString(j.line(0))
				}
				c.commit(s, raw.String())
			}
			segs, err := segment.List(filepath.Join(c.dir, "gc.log"))
			c.must(err)
			if n := c.compare(Config{}); n < 5 {
				t.Fatalf("only %d segments were not decoded, want at least 5", n)
			}
			c.must(change(c, segs[2].Path))
			c.compare(Config{})
			if _, total := c.check(Config{}); total.Complete {
				t.Error("the copy is reported as complete, want incomplete")
			}
		})
	}
}

// Another user of the volume may be able to add a file of sums, but cannot change a segment.
func TestAForgedFileOfSums(t *testing.T) {
	c := newCopied(t, segment.Zstd, 20*settings.Ki)
	s := c.stream("gc.log")
	j := &jvm{Rand: rand.New(rand.NewPCG(7, 1)), now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	plain := ""
	for range 1000 {
		plain += j.line(0)
	}
	gap := ul.Gap{First: j.now, Last: j.now, Bytes: 700}
	gap.Lines[ul.Discard][ul.Debug] = 7
	c.commit(s, plain+string(gap.AppendMarker(nil)))
	c.store.SealAll()
	if _, total := c.check(Config{}); total.Complete {
		t.Fatal("a copy with a gap is reported as complete, want incomplete")
	}
	dir := filepath.Join(c.dir, "gc.log")
	segs, err := segment.List(dir)
	c.must(err)
	file, err := segment.OpenFile(segs[0])
	c.must(err)
	size, crc, err := segment.Checksum(file)
	c.must(err)
	c.must(file.Close())
	var forged index.Builder
	forged.Frame([]byte(plain))
	e := index.Entry{Seq: segs[0].Seq, Start: segs[0].Start.UnixMilli(), Segment: forged.Segment(size, crc)}
	data, ok := e.Append(nil)
	if !ok || e.Regular == nil {
		t.Fatal("the forged entry cannot be written or is not regular, want the entry of a regular log")
	}
	path := filepath.Join(dir, index.Name)
	c.must(os.WriteFile(path, data, 0o600))
	c.must(os.Chmod(path, 0o666))
	with, total := c.check(Config{})
	if total.Complete || with.streams[0].Gaps != 1 {
		t.Errorf("the forged file is believed: %+v, want Complete false and Gaps 1", with.streams)
	}
}

// BenchmarkCheck measures how fast a copy is checked when the writer recorded sums, and when the segments have to be
// decoded.
func BenchmarkCheck(b *testing.B) {
	c := newCopied(b, segment.Zstd, 4*settings.Mi)
	s := c.stream("gc.log")
	const frames = 256
	at, size := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), 0
	for i := 0; i < frames; i++ {
		var raw strings.Builder
		for n := 0; raw.Len() < segment.FrameBytes-200; n++ {
			ms := i*10_000 + n
			fmt.Fprintf(&raw, "%s[%d.%03ds][info][gc,heap] GC(%d) Eden regions: %d->0(%d)\n", at.Add(time.Duration(ms)*time.Millisecond).Format("[2006-01-02T15:04:05.000-0700]"),
				ms/1000, ms%1000, ms/7, ms%977, ms%11)
		}
		c.commit(s, raw.String())
		size += raw.Len()
	}
	c.store.SealAll()
	for _, how := range []string{"summed up", "decoded"} {
		if how == "decoded" {
			c.must(os.Remove(filepath.Join(c.dir, "gc.log", index.Name)))
		}
		b.Run(how, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Streams(context.Background(), c.dir, []string{"gc.log"}, Config{}, &results{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*float64(1<<30)/float64(size), "s/GiB")
		})
	}
}
