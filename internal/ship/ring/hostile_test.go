package ring

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// besideAnHonestRing checks that an honest ring is read exactly, whatever a test does to other
// rings.
func besideAnHonestRing(t *testing.T, s *sidecar, rounds func()) {
	t.Helper()
	const honest = name("events-8-1763722140123")
	w := newWriter(t, s.source, honest, minCapacity)
	var want []string
	for i := range 50 {
		w.event(i, "honest")
		want = append(want, fmt.Sprint(i, " honest"))
		rounds()
		s.rounds(1)
	}
	s.now = s.now.Add(time.Second)
	s.rounds(3)
	got, _ := events(t, s.source, honest)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the honest ring was read as %q, want %q\n%s", got, want, s.log)
	}
}

func TestForgedHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		forge  func(m []byte)
		reason string
	}{
		"no magic":             {func(m []byte) { m[0]++ }, "header"},
		"a later version":      {func(m []byte) { m[versionAt]++ }, "header"},
		"no capacity":          {func(m []byte) { le.PutUint64(m[capacityAt:], 0) }, "header"},
		"an odd capacity":      {func(m []byte) { le.PutUint64(m[capacityAt:], minCapacity+8) }, "header"},
		"a huge capacity":      {func(m []byte) { le.PutUint64(m[capacityAt:], 1<<63) }, "header"},
		"larger than the file": {func(m []byte) { le.PutUint64(m[capacityAt:], 2*minCapacity) }, "size"},
		"data elsewhere":       {func(m []byte) { le.PutUint32(m[dataOffsetAt:], 64) }, "header"},
		"two stripes":          {func(m []byte) { le.PutUint32(m[stripesAt:], 2) }, "header"},
		"long payloads":        {func(m []byte) { le.PutUint32(m[maxPayloadAt:], 1<<30) }, "header"},
		"an unknown flag":      {func(m []byte) { m[flagsAt] |= 2 }, "header"},
		"a head past the tail": {func(m []byte) { m[controlAt+headAt] = 8; m[controlAt+headAt+8] = 0xf7 }, "cursor"},
		"half a head":          {func(m []byte) { m[controlAt+headAt] = 8 }, "cursor"},
		"a tail far away":      {func(m []byte) { le.PutUint64(m[controlAt:], 1<<40) }, "cursor"},
		"an odd tail":          {func(m []byte) { le.PutUint64(m[controlAt:], 9) }, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			source := t.TempDir()
			w := newWriter(t, source, testName, minCapacity)
			c.forge(w.mem)
			s := newSidecar(t, source).start()
			besideAnHonestRing(t, s, func() {})
			if got := s.errorsBy(); got != c.reason+"=1" {
				t.Errorf("the errors are %s, want %s=1\n%s", got, c.reason, s.log)
			}
		})
	}
}

func TestCursorsThatRunWild(t *testing.T) {
	for name, tail := range map[string]uint64{"far ahead": 1 << 50, "back": 8, "odd": 1001, "the largest aligned number": ^uint64(0) &^ 7} {
		t.Run(name, func(t *testing.T) {
			w, s := mapped(t)
			w.event(1, "one")
			w.event(2, "two")
			s.rounds(2)
			le.PutUint64(w.mem[controlAt:], tail)
			besideAnHonestRing(t, s, func() {})
			wantErrors(t, s, "cursor=1")
			if le.Uint32(w.mem[abandonedAt:]) != 1 {
				t.Error("the ring is not abandoned")
			}
			w.kill()
			s.now = s.now.Add(time.Second)
			s.rounds(3)
			if left := names(t, s.source); strings.Contains(left, testName.ring()) {
				t.Errorf("files are left in the source: %s; want no %s", left, testName.ring())
			}
		})
	}
}

// After a bad word, the JVM continues in another ring. The records after that word are still
// read.
func TestBadWordsAbandonARing(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "one")
	pos, _ := w.claim(40, ul.Info)
	copy(w.mem[w.at(pos):], "no writer writes such words, nor these.....")
	w.event(2, "two")
	besideAnHonestRing(t, s, func() {})
	wantMessages(t, s, "1 one", "2 two")
	if le.Uint32(w.mem[abandonedAt:]) != 1 || w.head() == w.tail() {
		t.Errorf("abandoned is %d, the head %d of %d; want 1 and a head that is not at the tail", le.Uint32(w.mem[abandonedAt:]), w.head(), w.tail())
	}
	wantErrors(t, s, "word=2") // one when the ring is abandoned, and one when the bad word is skipped
}

func TestTruncatedAndSparseRings(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(path string) error
		reason string
	}{
		"to nothing":      {func(p string) error { return os.Truncate(p, 0) }, "size=1"},
		"in the middle":   {func(p string) error { return os.Truncate(p, dataAt+1000) }, "size=1"},
		"made longer":     {func(p string) error { return os.Truncate(p, 1<<30) }, "size=1"},
		"punched, a hole": {func(p string) error { return punch(p) }, "sparse=1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := mapped(t)
			w.event(1, "one")
			s.rounds(2)
			mem := w.mem
			if err := c.do(w.path); err != nil {
				t.Fatal(err)
			}
			s.now = s.now.Add(time.Second)
			besideAnHonestRing(t, s, func() {})
			wantMessages(t, s, "1 one")
			wantErrors(t, s, c.reason)
			_ = unix.Munmap(mem)
			w.mem = nil
			s.now = s.now.Add(time.Second)
			s.rounds(3)
			if left := names(t, s.source); strings.Contains(left, testName.ring()) {
				t.Errorf("files are left in the source: %s; want no %s", left, testName.ring())
			}
		})
	}
}

func punch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, dataAt, minCapacity)
}

// A ring may claim to be larger than any tmpfs without using any memory.
func TestARingOfHolesIsNotRead(t *testing.T) {
	source := t.TempDir()
	w := newWriter(t, source, testName, minCapacity)
	le.PutUint64(w.mem[capacityAt:], maxCapacity)
	le.PutUint64(w.mem[controlAt:], maxCapacity)
	if err := os.Truncate(w.path, dataAt+maxCapacity); err != nil {
		t.Fatal(err)
	}
	s := newSidecar(t, source).start()
	besideAnHonestRing(t, s, func() {})
	wantErrors(t, s, "sparse=1")
	var st unix.Stat_t
	if err := unix.Stat(w.path, &st); err != nil || st.Blocks*512 > 1<<20 {
		t.Errorf("the ring takes %d bytes, error %v, want at most 1 MiB", st.Blocks*512, err)
	}
}

func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	source := t.TempDir()
	s := newSidecar(t, source)
	for i, do := range []func(path string) error{
		func(p string) error { return os.Mkdir(p, 0o700) },
		func(p string) error { return os.Symlink("/etc/passwd", p) },
		func(p string) error { return unix.Mkfifo(p, 0o600) },
		func(p string) error { return os.Link(filepath.Join(source, "other"), p) },
		func(p string) error { return os.WriteFile(p, nil, 0o600) },
		func(p string) error { return os.Symlink(".", p) },
	} {
		if i == 3 {
			if err := os.WriteFile(filepath.Join(source, "other"), make([]byte, 1<<17), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := do(filepath.Join(source, name(fmt.Sprintf("events-%d-1763722140123", 10+i)).ring())); err != nil {
			t.Fatal(err)
		}
	}
	for _, odd := range []string{"events-.ring", "events-1.ring", "events-1--2.ring", "events-x-1763722140123.ring", "events-1-1763722140123-3-4.ring", "events-..-1763722140123.ring",
		"events-1-99999999999999999999.ring", "events-1-2.ring", "events-\n-1763722140123.ring"} {
		if err := os.WriteFile(filepath.Join(source, odd), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	besideAnHonestRing(t, s, func() {})
	wantErrors(t, s, "refused=5 size=1")
	s.rounds(3)
	wantErrors(t, s, "refused=5 size=1") // each is counted once
}

func TestATextThatIsNoFileIsNotWritten(t *testing.T) {
	w, s := mapped(t)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.source, testName.text())
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	w.event(1, "one")
	besideAnHonestRing(t, s, func() {})
	wantErrors(t, s, "text=1")
	if b, _ := os.ReadFile(target); string(b) != "precious\n" {
		t.Errorf("the target has %q, want \"precious\\n\"", b)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(time.Second)
	s.rounds(2)
	wantMessages(t, s, "1 one")
}

// An application may log text from its users. Such text can neither begin a line of its own nor look like a
// record.
func TestMessagesForgeNoLine(t *testing.T) {
	w, s := mapped(t)
	header := "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1 lines, 5 bytes dropped in 0.000s: drop info=1"
	texts := []string{header, "x\n" + header, "x\r\n" + header, "\x00\x1b[2J\x7f", "\n\n\n" + header + "\n" + header, "[", "]\n[", "\n[ ] x",
		"x\n2026-11-23T07:36:35.123Z ERROR x", "x\n{\"level\":\"ERROR\"}\n{}", "x\n{\"a\" b \"level\":\"ERROR\"", "x\nNov 23, 2026 7:36:35 AM Main main\nSEVERE: x"}
	for _, text := range texts {
		w.event(1, text)
		w.write(ul.Info, kindLine, 3, []byte("[t]"+text))
		w.write(ul.Info, kindLine, uint32(len(text)), []byte(text+text))
		w.write(ul.Info, kindLine, 1<<31, []byte(text))
	}
	record := make([]byte, 4096) // one message full of forged records, which are valid at any place in the ring
	for at := 0; at+32 <= len(record); at += 32 {
		bits := uint64(9) | uint64(ul.Error)<<32 | kindText<<36
		pos := w.tail() + payloadAt + uint64(at)
		le.PutUint64(record[at:], bits|check(bits, pos)<<wordBits)
		copy(record[at+payloadAt:], "forged!!")
	}
	w.event(2, string(record))
	w.event(3, "the end")
	w.kill()
	s.drained()
	got, lines := events(t, s.source, testName)
	if want := 4*len(texts) + 2; len(got) != want {
		t.Errorf("%d records, want %d", len(got), want)
	}
	var class format.Classifier
	for i, line := range lines {
		_, marker := ul.ParseMarker([]byte(line))
		kind := class.Classify([]byte(line), []byte(strings.Join(lines[i+1:], "\n"))).Kind
		if isRecord := strings.Contains(line, "99][info][event] "); marker || (kind == ul.Header) != isRecord || kind != ul.Header && kind != ul.Continuation {
			t.Errorf("line %d is a %v, want a header if it has an event, else a continuation, and no marker: %.200q", i, kind, line)
		}
		if strings.ContainsAny(line, "\x00\x1b\x7f\r") {
			t.Errorf("line %d has control characters: %.200q", i, line)
		}
	}
}

// FuzzRing gives a drain a ring with arbitrary bytes after a good header. The bytes change while the ring
// is being read.
func FuzzRing(f *testing.F) {
	golden, err := os.ReadFile("testdata/golden.ring")
	if err != nil {
		f.Fatal(err)
	}
	const some = 4 << 10 // more would be slow
	f.Add(golden[controlAt:controlAt+controlBytes], golden[dataAt:dataAt+some], uint64(0), false, false)
	f.Add([]byte{}, []byte{}, uint64(minCapacity), true, false)
	f.Add(golden[controlAt:controlAt+16], golden[dataAt+8:dataAt+some], uint64(1<<40), true, false)
	f.Add([]byte{}, golden[dataAt:dataAt+some], uint64(some), true, true)
	f.Add([]byte{}, golden[len(golden)-some:], uint64(0), false, true)
	f.Fuzz(func(t *testing.T, control, data []byte, tail uint64, alive, seal bool) {
		source := t.TempDir()
		w := newWriter(t, source, testName, minCapacity)
		copy(w.mem[controlAt:controlAt+controlBytes], control)
		copy(w.mem[dataAt:], data)
		copy(w.mem[templatesAt:dataAt], data)
		if seal {
			w.seal(min(len(data), minCapacity))
		}
		if tail > 0 {
			le.PutUint64(w.mem[controlAt:], tail)
		}
		s := newSidecar(t, source)
		r := rand.New(rand.NewPCG(uint64(len(data)), tail))
		s.calls.before = func(step, int, []byte, int64) error {
			if w.mem != nil && len(data) > 0 {
				from := r.IntN(len(data))
				copy(w.mem[dataAt+r.IntN(minCapacity):], data[from:min(len(data), from+8)])
			}
			return nil
		}
		s.start()
		s.rounds(4)
		if !alive {
			w.kill()
			s.rounds(4)
		}
		info, err := os.Stat(filepath.Join(source, testName.text()))
		if err != nil {
			return
		}
		if info.Size() > 64*mostText {
			t.Errorf("the text has %d bytes, want at most %d", info.Size(), 64*mostText)
		}
		_, lines := events(t, source, testName)
		plainText(t, strings.Join(lines, "\n"))
	})
}

func plainText(t *testing.T, text string) {
	t.Helper()
	if i := strings.IndexAny(text, "\x00\x1b\x7f\r"); i >= 0 {
		t.Errorf("the text has control characters: %.200q, want none", text[i:])
	}
}

// seal turns the first n bytes of the data into records, whatever they are. It does not make records in the
// application's own layout, whose bytes are not escaped.
func (w *writer) seal(n int) {
	pos := uint64(0)
	for pos+8 <= uint64(n) {
		bits := le.Uint64(w.mem[w.at(pos):]) & (1<<wordBits - 1) &^ 0xffff_fc00 // with payloads shorter than 1 KiB
		if bits>>36&15 == kindOwn {
			bits ^= (kindOwn ^ kindLine) << 36
		}
		le.PutUint64(w.mem[w.at(pos):], bits|check(bits, pos)<<wordBits)
		pos += uint64(max(8, parseWord(le.Uint64(w.mem[w.at(pos):]), pos).size))
	}
	le.PutUint64(w.mem[controlAt:], min(pos, w.cap))
}

// FuzzJournal decodes arbitrary slots.
func FuzzJournal(f *testing.F) {
	e := entry{seq: 1, from: 8, to: 16, pos: 16, end: 10}
	var b [slotBytes]byte
	e.encode(b[:])
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, slot []byte) {
		if len(slot) != slotBytes {
			return
		}
		if e, ok := decode(slot); ok {
			var again [slotBytes]byte
			e.encode(again[:])
			if d, ok := decode(again[:]); !ok || d != e {
				t.Errorf("entry %+v was decoded again as %+v, want the same", e, d)
			}
		}
	})
}
