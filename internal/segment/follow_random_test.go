package segment_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// sidecar is a writer that remembers what it wrote and whose checkpoint is a single mark.
type sidecar struct {
	*followed
	s     *store.Stream
	raw   strings.Builder // all bytes that were ever appended, once
	at    int             // the position of the stream's end in raw
	mark  segment.Mark    // in the checkpoint
	saved int             // the position of mark in raw
	rand  *rand.Rand
}

// append appends n bytes of lines. If the stream was cut, it appends the lines that were cut again.
func (c *sidecar) append(n int) {
	for c.raw.Len() < c.at+n {
		fmt.Fprintf(&c.raw, "line of byte %d\n", c.raw.Len())
	}
	texts(c.t, c.s, c.raw.String()[c.at:c.at+n])
	c.at += n
}

// step makes the sidecar do one thing, or lets one thing happen to it.
func (c *sidecar) step(what byte) {
	switch what % 8 {
	case 0, 1, 2:
		c.append(1 + c.rand.Intn(300))
	case 3: // a commit
		c.mark, c.saved = sync(c.t, c.s), c.at
	case 4: // a commit that seals
		c.mark, c.saved = sync(c.t, c.s), c.at
		c.mark.Sealed = c.mark.Segment != ""
		c.s = c.restart(c.mark)
	case 5: // killed
		c.s, c.at = c.restart(c.mark), c.saved
	case 6: // killed between the sync and the checkpoint
		sync(c.t, c.s)
		c.s, c.at = c.restart(c.mark), c.saved
	case 7:
		c.closes = !c.closes
		c.look()
	}
}

func (c *sidecar) check() {
	c.t.Helper()
	if got, want := c.got.String(), c.raw.String()[:c.at]; !strings.HasPrefix(c.raw.String(), got) || len(got) < len(want) {
		at := firstDifference([]byte(got), []byte(c.raw.String()))
		c.t.Fatalf("read %d bytes; %d were written, and the stream has the first %d of them; want a prefix of the written bytes, at least as long as the stream; first difference at %d:\n%.80q\n%.80q",
			len(got), c.raw.Len(), c.at, at, got[at:], c.raw.String()[at:])
	}
	c.expectErrors()
}

// Next returns each byte once, whatever the order of commits, kills and looks.
func FuzzFollowARandomSidecar(f *testing.F) {
	f.Add(uint8(0), int64(1), []byte{0, 3, 7, 0, 7, 5, 7, 0, 0, 7})
	f.Add(uint8(1), int64(2), []byte{0, 4, 0, 7, 6, 7, 0, 5, 0, 4, 7, 0, 3, 0, 7, 6, 0, 0, 0, 7})
	for seed := range int64(9) {
		r := rand.New(rand.NewSource(seed))
		steps := make([]byte, 150)
		r.Read(steps)
		f.Add(uint8(seed), seed, steps)
	}
	f.Fuzz(func(t *testing.T, how uint8, seed int64, steps []byte) {
		d := newFollowed(t, writtenCompressions[int(how)%len(writtenCompressions)])
		must(t, os.MkdirAll(d.dir(), 0o750))
		c := &sidecar{followed: d, rand: rand.New(rand.NewSource(seed))}
		c.s = c.restart(segment.Mark{})
		c.append(1) // and commit it: a restart without any commit deletes everything
		c.mark, c.saved = sync(t, c.s), c.at
		for _, what := range steps[:min(len(steps), 300)] {
			c.step(what)
			if what%8 == 7 {
				c.check()
			}
		}
		c.look()
		c.check()
	})
}

// FuzzFollowFrom begins at arbitrary places. Following must not panic, it must end, and Next must return only bytes
// that the segments hold.
func FuzzFollowFrom(f *testing.F) {
	dest := f.TempDir()
	s, err := store.Open(dest, configOf(segment.Zstd), nil, nil)
	must(f, err)
	f.Cleanup(func() { must(f, s.Close()) })
	str := s.Stream("gc")
	must(f, str.Resume(segment.Mark{}, 0))
	texts(f, str, "1\n", "2\n", "3\n")
	mark := sync(f, str)
	for offset := range mark.Offset + 2 {
		f.Add(mark.Segment, offset, int64(2))
	}
	f.Fuzz(func(t *testing.T, name string, offset, raw int64) {
		from := segment.Place{Segment: name, Offset: offset, Raw: raw}
		fol, err := segment.OpenFollower(dest+"/gc", segment.FollowOptions{From: from})
		if err != nil {
			return
		}
		defer fol.Close()
		got := ""
		for range 100 {
			raw, err := fol.Next()
			var bad *segment.DamageError
			var gone *segment.GoneError
			switch got += string(raw); {
			case err == io.EOF:
				if !strings.HasSuffix("1\n2\n3\n", got) {
					t.Fatalf("from %+v, the lines %q were read, want the end of %q", from, got, "1\n2\n3\n")
				}
				return
			case err != nil && !errors.As(err, &bad) && !errors.As(err, &gone):
				t.Fatal(err)
			}
		}
		t.Fatalf("from %+v, Next never returned io.EOF", from)
	})
}
