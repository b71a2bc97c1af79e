package ring

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/ul"
)

func TestPrintGoldenRing(t *testing.T) {
	var out bytes.Buffer
	found, err := Print(&out, "testdata/golden.ring")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(out.String(), strings.Repeat("x", 32<<10), "(32 KiB of x)")
	const golden = "testdata/golden.print"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if found.Dropped.Total() != 2 || found.Events != 10 || found.Skipped == 0 {
		t.Errorf("found %+v", found)
	}
}

// overwrite writes into a flight recorder, which nobody reads.
func (w *writer) overwrite(id uint32, payload []byte) {
	pos := w.tail()
	pad := uint64(0)
	if rest := w.cap - pos&(w.cap-1); uint64(recordSize(len(payload))) > rest {
		pad = rest
	}
	le.PutUint64(w.mem[controlAt:], pos+pad+uint64(recordSize(len(payload))))
	if pad > 0 {
		w.word(pos, int(pad), 0, kindPad, 0)
		pos += pad
	}
	w.announce(pos, len(payload))
	w.fill(pos, id, 99, testMono+int64(id), payload)
	w.word(pos, len(payload), ul.Info, kindText, 0)
}

func TestPrintAFlightRecorderThatWentAround(t *testing.T) {
	w := newWriter(t, t.TempDir(), "recorder-7-1763722140123", minCapacity)
	w.mem[flagsAt] = flagRecorder
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(5000) {
		w.overwrite(i, bytes.Repeat([]byte{'x'}, r.IntN(100)))
		if i%500 != 499 {
			continue
		}
		var out bytes.Buffer
		found, err := Print(&out, w.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != found.Events || len(lines) < minCapacity/130-3 && int(i) > len(lines) {
			t.Errorf("%d lines, %+v", len(lines), found)
		}
		for k, line := range lines {
			if want := fmt.Sprintf("): %d", int(i)-len(lines)+1+k); !strings.Contains(line+" ", want+" ") {
				t.Fatalf("line %d of %d is %q, want %q", k, len(lines), line, want)
			}
		}
	}
}

func TestPrintWhatIsNoRing(t *testing.T) {
	for _, path := range []string{"testdata/golden.txt", "testdata", "testdata/none", "/dev/null"} {
		if _, err := Print(&bytes.Buffer{}, path); err == nil {
			t.Errorf("%s is printed", path)
		}
	}
}
