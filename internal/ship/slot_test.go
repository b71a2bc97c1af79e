package ship

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
)

var (
	testKey  = bytes.Repeat([]byte{7}, 32)
	otherKey = bytes.Repeat([]byte{8}, 32)
	file1    = position.Identity{Dev: 1, Ino: 2, Born: 3}
	file2    = position.Identity{Dev: 1, Ino: 3, Born: 4}
	at99     = position.Position{Offset: 99, Check: 5, CheckLen: 64}
	marks1   = []streamState{{Name: "gc.log", Mark: segment.Mark{Segment: "20261120T100000.000Z-000001.log.zst", Offset: 512}}}
)

// committed is a state of before the destination was silent.
func committed() state {
	return state{Streams: marks1, Files: []fileState{{Identity: file1, Stream: "gc.log", Position: at99}}}
}

func (c *checkpoint) mustSave(t *testing.T, st state) {
	t.Helper()
	if err := c.save(func() state { return st }); err != nil {
		t.Fatal(err)
	}
}

func TestGapsThatWereRecordedWithoutTheDestinationAreFound(t *testing.T) {
	dir := t.TempDir()
	attached(t, testKey, dir).mustSave(t, committed())
	silent := attached(t, nil, dir)
	if l := silent.load(); l.marked || !l.claimed || l.invalid != nil || len(l.Streams) > 0 || len(l.Files) != 1 {
		t.Fatalf("without the key: %+v", l)
	}
	dropped := committed()
	dropped.Streams = nil
	dropped.Files[0].Gaps = "AAAA"
	dropped.Files = append(dropped.Files, fileState{Identity: file2, Stream: "gc.log", Gaps: "BBBB"})
	silent.mustSave(t, dropped)
	for name, key := range map[string][]byte{"without the key": nil, "with the key": testKey} {
		l := attached(t, key, dir).load()
		if !reflect.DeepEqual(l.Files, dropped.Files) || l.invalid != nil || !l.since {
			t.Errorf("%s: %+v", name, l)
		}
		if l.marked != (key != nil) || l.marked && !reflect.DeepEqual(l.Streams, marks1) {
			t.Errorf("%s: marked %v, %+v", name, l.marked, l.Streams)
		}
	}
	var marks []streamState
	marked, invalid := silent.unseal(testKey, func(st state) { marks = st.Streams })
	if !marked || invalid != nil || !reflect.DeepEqual(marks, marks1) {
		t.Fatalf("unsealed: %v, invalid %v, %+v", marked, invalid, marks)
	}
	silent.mustSave(t, committed())
	if st := attached(t, testKey, dir).load(); st.Files[0].Gaps != "" {
		t.Error("gaps that were told of come back")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "provisional-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The application writes what it likes while nobody can tell.
func TestSlotThatNobodyCouldAuthenticate(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(t *testing.T, dir string)
		invalid bool
	}{
		{"none", func(*testing.T, string) {}, false},
		{"of another destination", func(t *testing.T, dir string) { attached(t, otherKey, dir).mustSave(t, committed()) }, true},
		{"replaced meanwhile", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.spoil != nil {
				c.spoil(t, dir)
			}
			silent := attached(t, nil, dir)
			silent.load()
			if c.spoil == nil {
				attached(t, testKey, dir).mustSave(t, committed())
			}
			marked, invalid := silent.unseal(testKey, func(state) { t.Error("its marks are used") })
			if marked || (invalid != nil) != c.invalid {
				t.Errorf("marked %v, invalid %v", marked, invalid)
			}
		})
	}
}

// Another --dest is nobody's forgery.
func TestSlotThatIsNotOursSaysWhatHasHappened(t *testing.T) {
	spoil := func(old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, slotNames[0])
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(old)) {
				t.Fatalf("no %q in %q, %v", old, text, err)
			}
			writeFile(t, path, bytes.Replace(text, []byte(old), []byte(new), 1))
		}
	}
	for name, c := range map[string]struct {
		key   []byte
		spoil func(t *testing.T, dir string)
		want  error
	}{
		"another destination":           {otherKey, nil, errSlotMoved},
		"changed":                       {testKey, spoil(`"seq":1`, `"seq":2`), errSlotForged},
		"without the name of a key":     {testKey, spoil(slotFor+keyName(testKey), ""), nil},
		"the same, of another":          {otherKey, spoil(slotFor+keyName(otherKey), ""), errSlotForged},
		"with the name of another key":  {testKey, spoil(keyName(testKey), keyName(otherKey)), nil},
		"of another, and with our name": {otherKey, spoil(keyName(otherKey), keyName(testKey)), errSlotForged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			attached(t, c.key, dir).mustSave(t, committed())
			if c.spoil != nil {
				c.spoil(t, dir)
			}
			l := attached(t, testKey, dir).load()
			if err := errors.Join(l.invalid...); !errors.Is(err, c.want) || l.marked != (c.want == nil) {
				t.Errorf("%v, and taken: %v; want %v", err, l.marked, c.want)
			} else if c.want == errSlotMoved && (strings.Contains(err.Error(), "forged") || !strings.Contains(err.Error(), "--dest") || slotReason(err) != "other_destination") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestProvisionalSlotMovesNoPosition(t *testing.T) {
	dir := t.TempDir()
	attached(t, testKey, dir).mustSave(t, committed())
	silent := attached(t, nil, dir)
	silent.load()
	forged := state{Streams: []streamState{{Name: "other.log"}}, Files: []fileState{
		{Identity: file1, Stream: "gc.log", Position: position.Position{Offset: 1 << 40}, Gaps: "AAAA"},
		{Identity: file2, Stream: "gc.log", Position: position.Position{Offset: 1 << 40}, Gaps: "BBBB"},
	}}
	silent.mustSave(t, forged)
	st := attached(t, testKey, dir).load()
	if want := committed(); !reflect.DeepEqual(st.Files, want.Files) || !reflect.DeepEqual(st.Streams, want.Streams) {
		t.Errorf("%+v", st)
	}
}

// A long file costs nothing before its code is known to be right.
func TestLongSlotIsNotTakenIntoMemory(t *testing.T) {
	const length = slotMaxBytes - 1024
	body := append([]byte(`{"files":[`), bytes.Repeat([]byte("{},"), sinceMaxBytes/3-100)...)
	for name, text := range map[string][]byte{
		slotNames[0]:        fmt.Appendf(nil, slotHeader, length, hex.EncodeToString(make([]byte, 32))),
		provisionalNames[0]: append(fmt.Appendf(nil, slotHeader, len(body), hex.EncodeToString(sum(nil, body))), body...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if name == slotNames[0] {
				truncateFile(t, filepath.Join(dir, name), slotMaxBytes)
			}
			c := attached(t, testKey, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			l := c.load()
			runtime.ReadMemStats(&after)
			if l.marked || len(l.Files) > 0 {
				t.Errorf("it was taken: %d files", len(l.Files))
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("it took %d bytes", took)
			}
		})
	}
}

// FuzzProvisional gives any text the right code, which needs no key.
func FuzzProvisional(f *testing.F) {
	f.Add([]byte(`{"seq":9,"streams":[{"name":"gc.log"}],"files":[{"dev":1,"ino":2,"born":3,"offset":99,"check":5,"check_len":64,"gaps":"AAAA"}]}`))
	f.Add([]byte(`{"seq":18446744073709551615,"files":[{},null]}`))
	f.Add([]byte(`{"files":[]}trailing`))
	f.Fuzz(func(t *testing.T, body []byte) {
		dir := t.TempDir()
		attached(t, testKey, dir).mustSave(t, committed())
		text := append(fmt.Appendf(nil, slotHeader, len(body), hex.EncodeToString(sum(nil, body))), body...)
		if err := os.WriteFile(filepath.Join(dir, provisionalNames[1]), text, 0o600); err != nil {
			t.Fatal(err)
		}
		c := attached(t, testKey, dir)
		st := c.load()
		if !st.marked || st.invalid != nil || !reflect.DeepEqual(st.Streams, marks1) {
			t.Fatalf("the checkpoint beside it: %+v", st)
		}
		if len(st.Files) == 0 || st.Files[0].Position != at99 {
			t.Fatalf("a position was moved: %+v", st.Files)
		}
		for _, file := range st.Files[1:] {
			if file.Position != (position.Position{}) {
				t.Fatalf("a position came from nowhere: %+v", file)
			}
		}
		c.mustSave(t, st.state)
		if again := attached(t, testKey, dir).load(); !again.marked || again.Seq <= st.Seq {
			t.Fatalf("what was saved behind it is not the newest: %d after %d", again.Seq, st.Seq)
		}
	})
}

// A forged number must not make our own checkpoint one that nobody takes, nor
// an old one.
func TestForgedNumberIsNotTaken(t *testing.T) {
	for _, seq := range []uint64{mostSaves + 2, 1 << 62, 1<<64 - 1} {
		dir := t.TempDir()
		attached(t, testKey, dir).mustSave(t, committed())
		forger := attached(t, nil, dir)
		forger.seq = seq - 1
		forger.mustSave(t, state{})
		keyed := attached(t, testKey, dir)
		st := keyed.load()
		keyed.mustSave(t, st.state)
		if now := attached(t, testKey, dir).load(); now.Seq != 2 || !now.marked {
			t.Errorf("forged %d: the checkpoint is %d, marked %v", seq, now.Seq, now.marked)
		}
	}
}

// A kill inside a save leaves the state of before: it is not written over.
func TestSaveAfterSilenceLeavesTheNewestSlot(t *testing.T) {
	dir := t.TempDir()
	c := attached(t, testKey, dir)
	c.mustSave(t, committed())
	c.mustSave(t, committed())
	newest := filepath.Join(dir, slotNames[1])
	before, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	silent := attached(t, nil, dir)
	silent.load()
	for saves := range 3 {
		if saves > 0 {
			silent.mustSave(t, committed())
		}
	}
	silent.unseal(testKey, func(state) {})
	silent.mustSave(t, committed())
	if after, err := os.ReadFile(newest); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the newest slot was written over (%v)", err)
	}
}

func TestGapsOfATruncatedFileAreItsOwn(t *testing.T) {
	dir := t.TempDir()
	attached(t, testKey, dir).mustSave(t, committed())
	silent := attached(t, nil, dir)
	silent.load()
	silent.mustSave(t, state{Files: []fileState{{Identity: file1, Stream: "gc.log", Gaps: "AAAA"}}})
	st := attached(t, testKey, dir).load()
	if f := st.Files[0]; f.Position != at99 || f.Gaps != "" || f.Anew != "AAAA" {
		t.Errorf("%+v", f)
	}
}

func TestForgedStreamNameIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	silent := attached(t, nil, dir)
	silent.mustSave(t, state{Files: []fileState{{Identity: file1, Stream: "../../outside", Gaps: "AAAA"}}})
	if st := attached(t, testKey, dir).load(); len(st.Files) != 1 || st.Files[0].Stream != "" {
		t.Errorf("%+v", st.Files)
	}
}
