package tail

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/source"
)

// dropSteps lists the steps of a dropModel, one letter each.
const dropSteps = "wWmnsdDarctkRvpTuSb"

// FuzzDrop drives a JVM that writes records of all levels, a reader that reads, commits,
// rewinds and restarts, and pressure. At the end, every line must be persisted once and in
// its place, or be counted by the marker in its place.
func FuzzDrop(f *testing.F) {
	for _, story := range []string{"WdWdscWDWc", "WWnWdsWdrWdcWDkWdc", "WdkWdkcWDRWdctWDt", "mWndWDaWsWdRrWDkmc", "WsWsdcdWdDWdDcRk", "pWdpWdvsskvWdvWdDsck", "WvTWvsTWdrck", "WvsuWvDbWdSvWc", "WvSWvbDWvsrSDk"} {
		var ops []byte
		for _, op := range story {
			ops = append(ops, byte(strings.IndexRune(dropSteps, op)))
		}
		f.Add(ops, uint64(1))
	}
	f.Fuzz(func(t *testing.T, ops []byte, seed uint64) {
		if len(ops) > 100 {
			t.Skip("longer inputs find nothing else")
		}
		m := newDropModel(t, seed)
		for _, op := range ops {
			m.step(dropSteps[int(op)%len(dropSteps)])
		}
		m.finish()
	})
}

// TestDropAtRandom runs the model of FuzzDrop with long inputs.
func TestDropAtRandom(t *testing.T) {
	moved := 0
	for seed := range uint64(4) {
		m := newDropModel(t, seed)
		for range 300 {
			m.step(dropSteps[m.rand.IntN(len(dropSteps))])
		}
		m.finish()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		moved += m.moved
		os.RemoveAll(m.dir)
	}
	if moved == 0 {
		t.Error("no line was ever moved")
	}
}

type writtenLine struct {
	text  string
	level ul.Level
}

// dropModel is a rig with the lines that were written to it and the text that was persisted.
type dropModel struct {
	*rig
	rand      *rand.Rand
	w         *os.File
	archives  int
	lines     []writtenLine
	persisted strings.Builder
	committed int // bytes of persisted that a rewind keeps
	dropped   uint64
	moved     int  // records in the spool, added up over all moves
	fragile   bool // a restart would lose lines, because their file or their records have no name
}

func newDropModel(t testing.TB, seed uint64) *dropModel {
	m := &dropModel{rig: newRig(t, func(c *Config) { c.LineLimit = 5000 }), rand: rand.New(rand.NewPCG(seed, 0))}
	m.w = m.writer("gc.log")
	return m
}

func (m *dropModel) step(op byte) {
	switch op {
	case 'w':
		m.record(m.level(), 1)
	case 'm':
		m.record(m.level(), 1+m.rand.IntN(5))
	case 'p': // warnings far enough apart for gaps between them
		for range 110 {
			m.record(ul.Warning, 1)
			for range 90 {
				m.record(ul.Debug, 1)
			}
		}
	case 'n': // only lines that are kept
		for range 40 {
			m.record(ul.Warning, 1)
		}
	case 'W':
		for range 300 {
			m.record(m.level(), 1+m.rand.IntN(8)/7)
		}
	case 's': // a few chunks are read
		m.scan()
		for range m.rand.IntN(4) {
			m.next()
		}
	case 'a':
		m.readAll()
	case 'd':
		m.drop(ul.Discard)
	case 'D':
		m.drop(ul.DropAll)
	case 'c':
		m.commit()
	case 'r':
		m.src.Start.Rewind()
		m.rewound()
	case 't':
		m.now = m.now.Add(time.Second)
		m.src.Tick()
	case 'k':
		m.restart()
	case 'v':
		m.move()
	case 'T':
		m.truncateInPlace()
	case 'u':
		m.scan()
		m.w.Close()
		if err := os.Remove(m.path("gc.log")); err != nil {
			m.t.Fatal(err)
		}
		m.w = m.writer("gc.log")
		m.fragile = true
	case 'S':
		m.replaceState()
		m.fragile = true
	case 'b': // the directory disappears and comes back
		m.openAgain()
	case 'R':
		m.archives++
		m.w = m.rotate(m.w, "gc.log", fmt.Sprintf("gc.log.%d", m.archives))
	}
}

// truncateInPlace truncates the log as a JVM with filecount=0 does at its start. Lines that
// were neither read nor moved are lost. Lines that were read cannot be read again, so
// truncateInPlace commits them first.
func (m *dropModel) truncateInPlace() {
	m.scan()
	f := m.src.table.Held[m.fileOf("gc.log")]
	if f == nil {
		m.t.Fatal("gc.log is not held")
	}
	for r := f.Records.Last(); r != nil && r.From > f.Read.Offset && m.next(); {
		// The lines between the records were read before them, and are not committed.
	}
	m.commit()
	text, err := os.ReadFile(m.path("gc.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	if from, _, _ := f.Front(); from < int64(len(text)) {
		m.lines = m.lines[:len(m.lines)-strings.Count(string(text[from:]), "\n")]
	}
	m.truncate()
	if err := sound(f); err == source.ErrRewritten {
		m.src.Reader.changes.truncated(f)
	} else if err != nil {
		m.t.Fatal(err)
	} else {
		f.Growth.Size = 0
	}
	m.scan()
}

// level mostly returns a level whose lines are dropped, so that there are pages to free.
func (m *dropModel) level() ul.Level {
	if m.rand.IntN(100) == 0 {
		return ul.Warning + ul.Level(m.rand.IntN(2))
	}
	return ul.Trace + ul.Level(m.rand.IntN(3))
}

// record writes a message of several lines as JDK 17 does.
func (m *dropModel) record(level ul.Level, lines int) {
	for i := range lines {
		text := fmt.Sprintf("[%d.%03ds][%-7s][gc] ", len(m.lines)/1000, len(m.lines)%1000, level)
		if i > 0 {
			text = "  "
		}
		text += fmt.Sprintf("line %d %s\n", len(m.lines), strings.Repeat("x", m.rand.IntN(100)))
		m.write(m.w, text)
		m.lines = append(m.lines, writtenLine{text, level})
	}
}

func (m *dropModel) scan() {
	m.src.Watcher.LookAgain()
	if _, err := m.src.Scanner.Scan(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *dropModel) next() bool {
	n, c, ok := m.src.Reader.Next(m.area)
	if ok {
		m.persisted.Write(m.area[:n])
		m.last[c.File] = c
	}
	return ok
}

func (m *dropModel) readAll() {
	m.scan()
	for m.next() {
	}
}

func (m *dropModel) drop(reason ul.Reason) {
	if reason == ul.Discard || m.rand.IntN(2) == 0 {
		m.move()
	}
	m.scan()
	m.src.Relief.Weigh()
	m.src.Relief.Drop(reason, m.relief())
	m.now = m.now.Add(time.Millisecond)
}

// relief asks for a random number of bytes, in blocks of a random size.
func (m *dropModel) relief() Relief {
	return Relief{Want: int64(m.rand.IntN(3 << 20)), Least: 1 + int64(m.rand.IntN(20<<10)), Keep: ul.Warning}
}

func (m *dropModel) move() {
	m.scan()
	m.src.Relief.Weigh()
	m.src.Relief.Move(m.relief())
	m.now = m.now.Add(time.Millisecond)
	for _, f := range m.src.table.Files {
		m.moved += len(f.Records.List)
	}
}

func (m *dropModel) commit() {
	m.rig.commit()
	m.committed = m.persisted.Len()
}

func (m *dropModel) rewound() {
	text := m.persisted.String()[:m.committed]
	m.persisted.Reset()
	m.persisted.WriteString(text)
	clear(m.last)
}

// restart forgets everything that is not committed and starts from a checkpoint.
func (m *dropModel) restart() {
	if m.fragile {
		m.readAll()
		m.commit()
		m.fragile = false
	}
	m.src.Start.Rewind()
	m.rewound()
	saved := maps.Clone(m.src.Start.Positions())
	m.countDropped()
	m.src.Close()
	m.open()
	m.src.Start.Restore(saved, false)
	m.scan()
}

func (m *dropModel) countDropped() {
	m.dropped += countedDrops(m.src)
}

// finish reads the rest and compares everything with the written lines.
func (m *dropModel) finish() {
	m.readAll()
	m.commit()
	m.countDropped()
	at, gone := 0, uint64(0)
	for line := range strings.Lines(m.persisted.String()) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			gone += g.Total()
			at = m.skip(at, g)
			continue
		}
		if at >= len(m.lines) || m.lines[at].text != line {
			m.t.Fatalf("after %d of %d lines: %q, want the next line or a marker", at, len(m.lines), line)
		}
		at++
	}
	if at != len(m.lines) {
		m.t.Fatalf("the persisted text ends after %d of %d lines", at, len(m.lines))
	}
	if gone != m.dropped {
		m.t.Errorf("markers count %d lines, the metric %v, want the same", gone, m.dropped)
	}
	if u := m.src.Stats().Unpersisted; u != (admin.Unpersisted{}) {
		m.t.Errorf("everything is durable, but the unpersisted data is %+v", u)
	}
	for _, f := range m.src.table.Files {
		if !f.Records.Empty() {
			m.t.Errorf("%d records are left, want none", len(f.Records.List))
		}
	}
	if memory := m.src.spool.memory(); memory > 128<<10 {
		m.t.Errorf("everything is durable, but the spool takes %d bytes, want at most %d", memory, 128<<10)
	}
}

// skip treats the lines of a gap as dropped and checks that they can have been dropped.
func (m *dropModel) skip(at int, g ul.Gap) int {
	var bytes uint64
	var levels [ul.NumLevels]uint64
	for range g.Total() {
		if at >= len(m.lines) {
			m.t.Fatalf("a marker counts more lines than were written: %+v", g)
		}
		bytes += uint64(len(m.lines[at].text))
		levels[m.lines[at].level]++
		at++
	}
	for level, n := range levels {
		marked := g.Lines[ul.Discard][level] + g.Lines[ul.DropAll][level]
		if n != marked || ul.Level(level) >= ul.Warning && g.Lines[ul.Discard][level] > 0 {
			m.t.Fatalf("before line %d: at level %s %d lines are missing, the marker has %+v", at, ul.Level(level), n, g)
		}
	}
	if bytes != g.Bytes {
		m.t.Fatalf("before line %d: %d bytes are missing, the marker counts %d", at, bytes, g.Bytes)
	}
	return at
}
