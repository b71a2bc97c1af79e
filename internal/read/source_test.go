package read

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// commits makes a stream and returns its segments. If apart is set, each commit has its own segment.
func commits(t *testing.T, apart bool, texts ...string) (dir string, segs []segment.Info) {
	t.Helper()
	dest, cfg := t.TempDir(), store.DefaultConfig()
	if apart {
		cfg.SegmentBytes = 1
	}
	durable, err := store.Open(dest, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := durable.Stream("gc.log")
	err = s.Resume(segment.Mark{}, 0)
	for _, text := range texts {
		if err == nil {
			err = s.Append([]byte(text))
		}
		if err == nil {
			_, err = s.Sync()
		}
	}
	if err = errors.Join(err, durable.Close()); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dest, "gc.log")
	if segs, err = segment.List(dir); err != nil {
		t.Fatal(err)
	}
	return dir, segs
}

// all returns the lines and losses of a source in order.
func all(t *testing.T, s *Source) (found []string) {
	t.Helper()
	defer s.Close()
	for {
		err := s.Read()
		if err == io.EOF {
			s.Lines.End()
		}
		for p := range s.Lines.Heads() {
			found = append(found, string(p.Head()))
		}
		var loss *Loss
		switch {
		case err == io.EOF:
			return found
		case errors.As(err, &loss):
			found = append(found, strings.ReplaceAll("! "+loss.Error(), filepath.Dir(loss.Path)+"/", ""))
			if loss.Ends() {
				return found
			}
		case err != nil:
			t.Fatal(err)
		}
	}
}

func follow(t *testing.T, dir string) *Source {
	t.Helper()
	s := &Source{}
	if err := s.Follow(dir, nil, false, segment.FollowOptions{Once: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALineGoesOnInTheNextSegmentUnlessOneIsMissing(t *testing.T) {
	dir, segs := commits(t, true, "one\ntwo, of", " two segments\nthree, of", " which the middle", " is missing\n")
	if err := os.Remove(segs[2].Path); err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "two, of two segments", "three, of", "! segments are missing before " + segs[3].Name, " is missing"}
	if d := cmp.Diff(want, all(t, follow(t, dir))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Copies of segments, as in a bucket, are read one after another by the same source.
func TestALineGoesOnInTheNextCopyUnlessOneIsMissing(t *testing.T) {
	_, segs := commits(t, true, "one, of", " two copies\ntwo, of", " which the middle", " is missing\n")
	var s Source
	defer s.Close()
	var found []string
	for _, at := range []int{0, 1, 3} {
		file, err := os.Open(segs[at].Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Decode(file, segs[at].Name, segs[at].Compress, segs[at]); err != nil {
			t.Fatal(err)
		}
		for err := error(nil); err != io.EOF; {
			if err = s.Read(); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			for p := range s.Lines.Heads() {
				found = append(found, string(p.Head()))
			}
		}
	}
	if d := cmp.Diff([]string{"one, of two copies", "two, of", " is missing"}, found); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestDamageEndsALineAndIsOneLoss(t *testing.T) {
	big := strings.Repeat("no line of this is read\n", 40_000) // no line of it is read, and it spans several of the windows in which the reader searches for a frame
	dir, segs := commits(t, false, "one\ntwo, of", big, big, " which the end is missing\n")
	raw, err := os.ReadFile(segs[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := segment.OpenListed(segs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var ends []int64
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, r.Offset())
	}
	for _, at := range []int64{ends[0], ends[1]} {
		copy(raw[at:], "nothing")
	}
	if err := os.WriteFile(segs[0].Path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	found := all(t, follow(t, dir))
	losses := slices.DeleteFunc(slices.Clone(found), func(line string) bool { return !strings.HasPrefix(line, "! bytes") })
	want := []string{"one", "two, of", "", " which the end is missing"}
	if len(losses) == 1 {
		want[2] = losses[0]
	}
	if d := cmp.Diff(want, found); d != "" || !strings.Contains(losses[0], segs[0].Name) {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A source that is parked in the middle of a frame resumes where it stopped.
func TestAParkedSourceLosesAndRepeatsNothing(t *testing.T) {
	texts := []string{"one\ntwo\nthree\nfour\n", "five\nsix, of", " two frames\nseven\n"}
	dir, _ := commits(t, false, texts...)
	for keep := range 12 {
		s := follow(t, dir)
		var found []string
		for {
			if err := s.Read(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for p, ok := s.Lines.Next(); ok; p, ok = s.Lines.Next() {
				found = append(found, string(p.Text))
				s.Park(keep)
				if held := s.Held(); held > 0 {
					t.Fatalf("%d bytes of a frame are in memory, want 0", held)
				}
				if len(s.Lines.Rest()) > 0 {
					t.Fatal("the rest of a frame is in memory, want it freed")
				}
			}
		}
		s.Close()
		if got, want := strings.Join(found, ""), strings.Join(texts, ""); got != want {
			t.Errorf("with %d bytes kept: %q, want %q", keep, got, want)
		}
	}
}

// The frame after a loss is read before the loss is returned. A parked source must not hold this frame: if each of a
// thousand streams lacked a segment, there would be a thousand such frames in memory.
func TestASourceThatIsParkedAtALossHoldsNoFrame(t *testing.T) {
	dir, segs := commits(t, true, "one, of", " which the middle", " is missing\ntwo\n")
	if err := os.Remove(segs[1].Path); err != nil {
		t.Fatal(err)
	}
	s := follow(t, dir)
	defer s.Close()
	var found []string
	var loss *Loss
	for err := error(nil); err != io.EOF; {
		if err = s.Read(); errors.As(err, &loss) {
			s.Park(1 << 10)
			if s.ahead != nil {
				t.Errorf("%d bytes of the frame after the loss are in memory, want none", len(s.ahead.raw))
			}
			found = append(found, "!")
		}
		for p := range s.Lines.Heads() {
			found = append(found, string(p.Head()))
		}
	}
	if d := cmp.Diff([]string{"!", "one, of", " is missing", "two"}, found); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A broken file is decompressed and read up to the damage, which is reported once.
func TestABrokenFileIsReadAsFarAsItGoes(t *testing.T) {
	_, segs := commits(t, false, "one\n", "two\n")
	raw, err := os.ReadFile(segs[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gc.log.zst")
	if err := os.WriteFile(path, raw[:len(raw)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var s Source
	if err := s.Decode(file, path, segment.Zstd, segs[0]); err != nil {
		t.Fatal(err)
	}
	found := all(t, &s)
	if n := len(found); n < 2 || found[0] != "one" || !strings.HasPrefix(found[n-1], "! read gc.log.zst at byte") || slices.ContainsFunc(found[:n-1], func(line string) bool { return line[0] == '!' }) {
		t.Errorf("the source returned %q, want one, perhaps more lines, and at the end a single error of reading gc.log.zst", found)
	}
}
