package hindsight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// held is a Log in a directory, with its state in a checkpoint.
type held struct {
	*Log
	t     testing.TB
	dir   *os.File
	state []byte
}

func open(t testing.TB, limit int64) *held {
	t.Helper()
	return openIn(t, t.TempDir(), limit)
}

func openIn(t testing.TB, path string, limit int64) *held {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &held{t: t, dir: dir, state: []byte("{}")}
	t.Cleanup(func() { dir.Close() })
	h.restart(limit)
	t.Cleanup(func() { h.Close() })
	return h
}

// restart continues as after a kill -9.
func (h *held) restart(limit int64) {
	h.t.Helper()
	if h.Log != nil {
		h.Close()
	}
	h.Log = New(time.Minute, limit)
	h.must(h.Attach(h.dir))
	var s State
	h.must(json.Unmarshal(h.state, &s))
	h.must(h.Resume(s))
}

func (h *held) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// commit saves a checkpoint.
func (h *held) commit() {
	h.t.Helper()
	s := h.State()
	var err error
	h.state, err = json.Marshal(s)
	h.must(err)
	h.Committed(s)
}

// add holds a batch that was read the given number of seconds after noon.
func (h *held) add(stream string, second int, raw string) {
	h.t.Helper()
	b := Batch{Stream: stream, Since: noon.Add(time.Duration(second-1) * time.Second), Read: noon.Add(time.Duration(second) * time.Second), Raw: []byte(raw)}
	b.Lines[ul.Debug] = uint32(strings.Count(raw, "\n"))
	h.must(h.Append(b))
}

// saves returns the lines to save and marks them as saved.
func (h *held) saves() string {
	var all strings.Builder
	for r, ok := h.Next(true); ok; r, ok = h.Next(true) {
		fmt.Fprintf(&all, "%s:%s", r.Stream, r.Raw)
		h.Saved(r)
	}
	return all.String()
}

func TestWhatIsHeldIsSavedOnceItIsCommitted(t *testing.T) {
	h := open(t, 1<<20)
	h.add("a", 1, "one\n")
	h.add("b", 2, "two\nthree\n")
	h.commit()
	h.add("a", 3, "four\n")
	if got := h.saves(); got != "" {
		t.Errorf("without a trigger, the lines %q were saved, want none", got)
	}
	h.SaveUntil(noon.Add(10 * time.Second))
	if got := h.saves(); got != "a:one\nb:two\nthree\n" {
		t.Errorf("the saved lines are %q, want \"a:one\\nb:two\\nthree\\n\"", got)
	}
	h.commit()
	h.add("a", 10, "in the window\n")
	h.add("a", 12, "behind it\n")
	h.commit()
	if got := h.saves(); got != "a:four\na:in the window\n" {
		t.Errorf("the saved lines are %q, want \"a:four\\na:in the window\\n\"", got)
	}
	h.commit()
	h.add("a", 13, "later\n")
	if st := h.Stats(); !st.Until.IsZero() || !st.Oldest.Equal(noon.Add(11*time.Second)) {
		t.Errorf("the stats are %+v, want Until zero and Oldest %s", st, noon.Add(11*time.Second))
	}
}

func TestARestartGoesOnWithWhatIsCommitted(t *testing.T) {
	h := open(t, 1<<20)
	h.add("a", 1, "one\n")
	h.add("a", 2, "two\n")
	h.SaveUntil(noon.Add(time.Minute))
	h.commit()
	h.add("a", 3, "not committed\n")
	if got := h.saves(); got != "a:one\na:two\n" {
		t.Fatalf("before the restart, the saved lines are %q, want \"a:one\\na:two\\n\"", got)
	}
	h.restart(1 << 20) // before the saved lines are committed
	h.add("a", 3, "three\n")
	h.commit()
	if got := h.saves(); got != "a:one\na:two\na:three\n" {
		t.Errorf("after the restart, the saved lines are %q, want \"a:one\\na:two\\na:three\\n\"", got)
	}
	h.Rewind()
	if got := h.saves(); got != "a:one\na:two\na:three\n" {
		t.Errorf("after a rewind, the saved lines are %q, want \"a:one\\na:two\\na:three\\n\"", got)
	}
	h.commit()
	h.restart(1 << 20)
	if got := h.saves(); got != "" {
		t.Errorf("the lines %q were saved again, want none", got)
	}
}

func TestTheOldestIsForgotten(t *testing.T) {
	h := openIn(t, lab.Tmpfs(t, "1m"), 4000)
	sum := func(i int) string { return fmt.Sprintf("%x\n", position.Checksum([]byte{byte(i)})) }
	h.add("a", 0, "too old\n")
	h.add("a", 61, "old enough\n")
	h.add("a", 62, "not yet\n")
	h.SaveUntil(noon.Add(61500 * time.Millisecond))
	h.commit()
	if got := h.saves(); got != "a:old enough\na:not yet\n" {
		t.Errorf("within the window, the lines %q were saved, want \"a:old enough\\na:not yet\\n\"", got)
	}
	for i := range 1000 {
		h.add("a", 70, sum(i))
		if st := h.Stats(); st.Bytes > 4000+200 {
			t.Fatalf("%d bytes are held, want at most %d", st.Bytes, 4000+200)
		}
		h.commit()
	}
	var st unix.Stat_t
	if h.must(unix.Fstat(int(h.file.Fd()), &st)); st.Blocks*512 > 4*position.PageSize {
		t.Errorf("the file takes %d bytes of memory, want at most %d", st.Blocks*512, 4*position.PageSize)
	}
	h.SaveUntil(noon.Add(time.Hour))
	if got := h.saves(); !strings.HasSuffix(got, sum(999)) || strings.Contains(got, sum(0)) {
		t.Errorf("within the size, the lines %q were saved, want %q last, and no longer %q", got, sum(999), sum(0))
	}
	if err := h.Append(Batch{Stream: "a", Raw: bytes.Repeat([]byte("0123456789abcdef"), 1<<8)}); err != nil {
		t.Error(err) // the batch compresses well
	}
}

// Saved lines must be consecutive among the withheld lines, because the stream of saved lines
// does not show gaps.
func TestWhatIsHeldHasNoHole(t *testing.T) {
	h := open(t, 4000)
	h.add("a", 1, "one\n")
	h.commit()
	h.add("a", 2, "two\n")
	if err := h.Append(Batch{Stream: "a", Since: noon.Add(2 * time.Second), Read: noon.Add(3 * time.Second), Raw: noise(8000)}); err == nil {
		t.Fatal("more is held than the limit")
	}
	if st := h.Stats(); !st.Oldest.IsZero() {
		t.Errorf("lines of %s are held, although they are older than the refused batch", st.Oldest)
	}
	h.add("a", 4, "four\n")
	h.SaveUntil(noon.Add(time.Minute))
	h.commit()
	if got := h.saves(); got != "a:four\n" {
		t.Errorf("the saved lines are %q, want \"a:four\\n\"", got)
	}
}

// On a full tmpfs, the oldest lines make room for the newest, as they do at the limit.
func TestAFullTmpfsHoldsTheNewest(t *testing.T) {
	dir := lab.Tmpfs(t, "128k")
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Blocks*uint64(st.Bsize) > 128<<10 {
		lab.Needs(t, fmt.Sprintf("root: to mount a small tmpfs: %v", err))
	}
	h := openIn(t, dir, 1<<20)
	for i := range 20 {
		h.add("a", i, fmt.Sprintf("%d %x\n", i, noise(8000)))
		h.commit()
	}
	h.SaveUntil(noon.Add(time.Minute))
	got := h.saves()
	first, last := -1, -1
	for line := range strings.Lines(got) {
		n := 0
		if _, err := fmt.Sscanf(line, "a:%d ", &n); err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = n
		} else if n != last+1 {
			t.Errorf("batch %d follows batch %d, want %d", n, last, last+1)
		}
		last = n
	}
	if first == 0 || last != 19 {
		t.Errorf("batches %d to %d are saved, want them up to 19, but not from 0", first, last)
	}
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func TestARefusedStreamIsForgotten(t *testing.T) {
	h := open(t, 1<<20)
	h.add("a", 1, "committed\n")
	h.commit()
	h.add("b", 2, "b1\n")
	h.add("a", 2, "a1\n")
	h.add("b", 3, "b2\n")
	h.must(h.Forget("a"))
	h.SaveUntil(noon.Add(time.Minute))
	h.commit()
	if got := h.saves(); got != "a:committed\nb:b1\nb:b2\n" {
		t.Errorf("the saved lines are %q, want \"a:committed\\nb:b1\\nb:b2\\n\"", got)
	}
}

func TestWhatIsGivenUpDoesNotComeBack(t *testing.T) {
	h := open(t, 1<<20)
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "%x", position.Checksum([]byte(fmt.Sprint(i))))
	}
	h.add("a", 1, long.String())
	h.commit()
	h.SaveUntil(noon.Add(time.Minute))
	if freed := h.Yield(); freed < 10000 || h.Stats().Bytes > 0 {
		t.Errorf("%d bytes were freed, and %d are held, want at least 10000 freed, and 0 held", freed, h.Stats().Bytes)
	}
	h.add("a", 2, "two\n")
	h.restart(1 << 20)
	h.SaveUntil(noon.Add(time.Minute))
	if got := h.saves(); got != "" {
		t.Errorf("%d bytes were saved, want 0, because Yield has freed them", len(got))
	}
	h.add("a", 3, "three\n")
	h.commit()
	if got := h.saves(); got != "a:three\n" {
		t.Errorf("the saved lines are %q, want \"a:three\\n\"", got)
	}
}

// The application can change the file in any way. Only valid records are saved.
func TestAFileThatSomebodyChanged(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"cut":      func(path string) error { return os.Truncate(path, 100) },
		"longer":   func(path string) error { return os.Truncate(path, 1<<40) },
		"zeros":    func(path string) error { return os.WriteFile(path, make([]byte, 4096), 0o600) },
		"a link":   func(path string) error { _ = os.Remove(path); return os.Symlink("/etc/passwd", path) },
		"a change": func(path string) error { return flip(path, 100) },
		"removed":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, 1<<20)
			h.add("stream", 1, strings.Repeat("held line\n", 100))
			h.SaveUntil(noon.Add(time.Minute))
			h.commit()
			path := filepath.Join(h.dir.Name(), fileName)
			h.must(spoil(path))
			h.restart(1 << 20)
			got := h.saves()
			if name == "longer" {
				if strings.Count(got, "held line") != 100 {
					t.Errorf("the saved lines are %q, want 100", got)
				}
				return
			}
			if got != "" {
				t.Errorf("lines are saved: %q, want nothing", got)
			}
			h.add("stream", 2, "next\n")
			h.commit()
			if got := h.saves(); got != "stream:next\n" {
				t.Errorf("after the damage, the saved lines are %q, want \"stream:next\\n\"", got)
			}
		})
	}
}

// A record that this process wrote is passed on unchanged. Any other record is decompressed
// first, because it may be from an earlier process or forged by the application.
func TestOnlyOwnRecordsAreTrusted(t *testing.T) {
	const lines = "one\ntwo\n"
	h := open(t, 1<<20)
	h.add("stream", 1, lines)
	h.SaveUntil(noon.Add(time.Minute))
	h.commit()
	if r, ok := h.Next(false); !ok || r.Raw != nil || r.Size() != len(lines) || len(r.Frame) == 0 {
		t.Errorf("a record of ours is %+v, %v; want a frame without raw lines, of the size %d", r, ok, len(lines))
	}
	if r, ok := h.Next(true); !ok || string(r.Raw) != lines {
		t.Errorf("a record of ours, decompressed, is %+v, %v; want the raw lines %q", r, ok, lines)
	}
	h.restart(1 << 20)
	if r, ok := h.Next(false); !ok || string(r.Raw) != lines {
		t.Errorf("a record of an earlier process is %+v, %v; want the raw lines %q", r, ok, lines)
	}

	h = open(t, 1<<20)
	h.add("stream", 1, lines)
	h.SaveUntil(noon.Add(time.Minute))
	h.commit()
	forged := *h.peek()
	frame := bytes.Repeat([]byte{'x'}, int(forged.frame))
	forged.check = position.Checksum(frame)
	f, err := os.OpenFile(filepath.Join(h.dir.Name(), fileName), os.O_WRONLY, 0)
	h.must(err)
	defer f.Close()
	_, err = f.Write(append(forged.append(nil), frame...))
	h.must(err)
	h.first = nil // makes the log read the record again
	if r, ok := h.Next(false); ok {
		t.Errorf("a record of the application was passed on, want none: %+v", r)
	}
}

func flip(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 0xff
	_, err = f.WriteAt(b[:], at)
	return err
}

func FuzzHead(f *testing.F) {
	h := head{stream: "gc.log", since: 1, read: 2, raw: 10, frame: 20, check: 3}
	h.lines[ul.Debug] = 1
	f.Add(h.append(nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHead(b)
		if err != nil {
			return
		}
		if again := h.append(nil); !bytes.Equal(again[:64], b[:64]) || h.end() < headBytes {
			t.Errorf("the head %+v is written again as %x, want %x and an end of at least %d", h, again[:64], b[:64], headBytes)
		}
	})
}

// BenchmarkAppend measures how fast lines are held.
func BenchmarkAppend(b *testing.B) {
	h := open(b, 8<<20)
	var raw strings.Builder
	for i := 0; raw.Len() < 512<<10; i++ {
		fmt.Fprintf(&raw, "[%d.%03ds][debug][gc,heap] GC(%d) Heap region %d: used %dK of %dK\n", i/1000, i%1000, i/97, i, i%7919, 32768)
	}
	b.SetBytes(int64(raw.Len()))
	batch := Batch{Stream: "gc.log", Since: noon, Read: noon, Raw: []byte(raw.String())}
	h.must(h.Append(batch))
	ratio := float64(raw.Len()) / float64(h.Stats().Bytes)
	for b.Loop() {
		h.must(h.Append(batch))
		h.commit()
	}
	b.ReportMetric(ratio, "ratio")
}

// The system clock is set back by a day while lines are being saved, and the sidecar
// restarts.
func TestAClockThatWasSetBackEndsSavingAfterAWindow(t *testing.T) {
	h := open(t, 1<<20)
	h.SaveUntil(time.Now().Add(24 * time.Hour))
	h.commit()
	h.restart(1 << 20)
	if until := h.Stats().Until; until.IsZero() || until.After(time.Now().Add(h.window)) {
		t.Errorf("lines are saved until %s, want a time within the window of %s", until, h.window)
	}
}

// The clock was an hour ahead when a process began, and was then set back. The records of that process seem to be of
// the future for the next one, and are saved like the later records.
func TestRecordsThatSeemToBeOfTheFutureAreSaved(t *testing.T) {
	h := open(t, 1<<20)
	h.began = time.Now().Round(0).Add(time.Hour)
	h.must(h.Append(Batch{Stream: "gc.log", Since: h.began, Read: h.began, Raw: []byte("old\n")}))
	h.commit()
	h.restart(1 << 20)
	now := time.Now()
	h.must(h.Append(Batch{Stream: "gc.log", Since: now, Read: now, Raw: []byte("new\n")}))
	h.commit()
	h.SaveUntil(time.Now().Add(time.Minute))
	var saved string
	for r, ok := h.Next(true); ok; r, ok = h.Next(true) {
		saved += string(r.Raw)
		h.Saved(r)
	}
	if saved != "old\nnew\n" {
		t.Errorf("saved %q, want both records", saved)
	}
}
