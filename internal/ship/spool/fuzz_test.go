package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// FuzzOpen opens a file with arbitrary content. Nothing may panic, and no
// record found in the file may return more than its bounds allow.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "spool")
	l, _ := open(f, path)
	long := manyLines(60, "rest")
	appended(f, l, block(0, long+"keep\n"+long), Without{})
	appended(f, l, block(10_000, long), WithoutLines())
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, uint32(276), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint32, value byte) {
		if len(data) > 1<<20 {
			return
		}
		if int(at) < len(data) {
			data = bytes.Clone(data)
			data[at] = value
		}
		sign(data)
		path := filepath.Join(t.TempDir(), "spool")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, records := open(t, path)
		for _, r := range records {
			var o Reading
			if l.Read(&o, r) == nil {
				o.Mark()
			}
			if len(o.Data) > BlockBytes+ul.MaxMarkerBytes+1 {
				t.Fatalf("a record hands on %d bytes, want at most %d", len(o.Data), BlockBytes+ul.MaxMarkerBytes+1)
			}
		}
	})
}

// sign makes the check of the first head valid, so that the fuzzer reaches the
// code after the check.
func sign(data []byte) {
	if n, err := headLength(data); err == nil && n <= len(data) {
		check := position.Checksum(data[atChecked:n])
		data[atCheck], data[atCheck+1], data[atCheck+2], data[atCheck+3] = byte(check), byte(check>>8), byte(check>>16), byte(check>>24)
	}
}

// FuzzBlock appends arbitrary lines. Reading must return them unchanged. After the rest is
// dropped, the markers must count exactly the missing lines.
func FuzzBlock(f *testing.F) {
	f.Add([]byte("rest\nkeep\nrest"))
	f.Add([]byte(manyLines(60, "rest") + "keep\nkeep\n" + manyLines(60, "rest")))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 || len(text) > BlockBytes {
			return
		}
		l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
		r := appended(t, l, block(0, string(text)), Without{})
		o := read(t, l, r)
		if !bytes.Equal(o.Data, text) {
			t.Fatalf("read %q, want %q", o.Data, text)
		}
		if _, err := l.Drop(r, Rest, ul.Discard); err != nil {
			t.Fatal(err)
		}
		less, gap := read(t, l, r), r.Gap()
		total := uint64(0)
		for level := range o.Lines {
			total += uint64(o.Lines[level])
			total -= uint64(less.Lines[level])
		}
		if total != gap.Total() || len(text)-(len(less.Data)-less.Made) != int(gap.Bytes) {
			t.Fatalf("%d lines are missing, the gap counts %d; %d bytes, the gap counts %d",
				total, gap.Total(), len(text)-(len(less.Data)-less.Made), gap.Bytes)
		}
	})
}
