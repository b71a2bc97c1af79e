package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ul"
)

// mkseg is a command for scripts. It adds a segment to a stream, with one
// frame for each file or, for a file over a frame's bound, for each piece:
//
//	mkseg [-at TIME] [-compress FORMAT] DEST STREAM FILE...
//
// -at gives it the name of a segment that was created then.
func mkseg() {
	cfg := segment.DefaultConfig()
	fs := flag.NewFlagSet("mkseg", flag.ExitOnError)
	at := fs.String("at", "", "")
	fs.Var(&cfg.Compress, "compress", "")
	fs.Parse(os.Args[1:])
	if err := makeSegment(cfg, *at, fs.Arg(0), fs.Arg(1), fs.Args()[2:]); err != nil {
		log.Fatal(err)
	}
}

func makeSegment(cfg segment.Config, at, dest, stream string, files []string) error {
	store, err := segment.Open(dest, cfg, nil, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	str := store.Stream(stream)
	if _, _, err := str.Recover(); err != nil { // what comes next is a new segment
		return err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for piece := range slices.Chunk(raw, segment.FrameBytes) {
			if err := str.Append(piece); err != nil {
				return err
			}
		}
	}
	if _, err := str.Sync(); err != nil || at == "" {
		return err
	}
	start, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	path := filepath.Join(dest, stream)
	segs, err := segment.List(path)
	if err != nil {
		return err
	}
	name := segs[len(segs)-1].Name
	_, rest, _ := strings.Cut(name, "-")
	return os.Rename(filepath.Join(path, name), filepath.Join(path, start.UTC().Format("20060102T150405.000Z")+"-"+rest))
}

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 20, 17, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"10m":                          now.Add(-10 * time.Minute),
		"1h30m":                        now.Add(-90 * time.Minute),
		"0s":                           now,
		"2026-11-20T16:45:11Z":         time.Date(2026, 11, 20, 16, 45, 11, 0, time.UTC),
		"2026-11-20T16:45:11.5+02:00":  time.Date(2026, 11, 20, 14, 45, 11, 5e8, time.UTC),
		"2026-11-20T16:45:11.123+0100": time.Date(2026, 11, 20, 15, 45, 11, 123e6, time.UTC),
		"2026-11-20":                   time.Date(2026, 11, 20, 0, 0, 0, 0, zone),
		"2026-11-20T16:45":             time.Date(2026, 11, 20, 16, 45, 0, 0, zone),
		"2026-11-20T16:45:11":          time.Date(2026, 11, 20, 16, 45, 11, 0, zone),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-10m", "yesterday", "10", "2026-13-01", "16:45"} {
		if got, err := parseSince(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// filterCases have a line and whether it passes at level warning.
var filterCases = []struct {
	line string
	pass bool
}{
	{"begins in the middle of a record", false},
	{"[0.100s][info   ][gc] one", false},
	{"further line of one", false},
	{"[0.101s][warning][gc] two", true},
	{"further line of two", true},
	{"[                 ] another, as JDK 25 writes it", true},
	{"", true},
	{"[0.102s][warning][] " + "    12 messages dropped due to async logging", true},
	{"[0.103s][error  ][gc] " + strings.Repeat("long ", 100<<10), true},
	{"further line of the long one", true},
	{"[0.104s][debug  ][gc] " + strings.Repeat("long ", 100<<10), false},
	{strings.Repeat("[worker] ", 20<<10), false},
	{"[0.105s][error  ][gc] " + strings.Repeat("x", catHead-22), true},
	{"[0.106s][info   ][gc] " + strings.Repeat("x", catHead-22), false},
	{"[0.107s][error  ][gc] without its end", true},
}

// A line's fate must not depend on how its bytes arrive, nor its memory on its
// length.
func TestFilterIsBlindToPieces(t *testing.T) {
	var all, want bytes.Buffer
	for _, c := range filterCases {
		fmt.Fprintln(&all, c.line)
		if c.pass {
			fmt.Fprintln(&want, c.line)
		}
	}
	raw := bytes.TrimSuffix(all.Bytes(), []byte{'\n'})
	for _, size := range []int{1, 2, 3, 7, 100, 4096, catHead - 1, catHead, catHead + 1, 1 << 20, len(raw)} {
		var got bytes.Buffer
		f := newCatFilter(&got, ul.Warning, time.Time{})
		for piece := range slices.Chunk(raw, size) {
			if err := f.write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.end(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("in pieces of %d: %d bytes pass, want %d", size, got.Len(), want.Len())
		}
		if cap(f.held) > 2*catHead {
			t.Errorf("in pieces of %d: %d bytes held", size, cap(f.held))
		}
	}
}

func TestFilterWithoutASelectionPassesAllAndKeepsLinesWhole(t *testing.T) {
	var got bytes.Buffer
	f := newCatFilter(&got, ul.Unknown, time.Time{})
	for _, step := range []struct{ raw, want string }{
		{"one\ntw", "one\n"}, {"o", "one\n"}, {"\n\nthree\nfo", "one\ntwo\n\nthree\n"},
	} {
		if err := f.write([]byte(step.raw)); err != nil || got.String() != step.want {
			t.Fatalf("after %q: %q, want %q (%v)", step.raw, got.String(), step.want, err)
		}
	}
	if err := f.end(); err != nil || got.String() != "one\ntwo\n\nthree\nfo" {
		t.Fatalf("at the end: %q (%v)", got.String(), err)
	}
}

func TestRepeatedBytesAreStrippedOnlyIfTheyRepeat(t *testing.T) {
	past := func(text string) catBytes {
		return catBytes{n: int64(len(text)), mark: []byte(text[:min(len(text), 3)])}
	}
	for name, c := range map[string]struct {
		cut, deleted catBytes
		raw          []string
		want         string
	}{
		"cut back":                  {past("abcdef"), catBytes{}, []string{"ab", "cd", "ef", "gh"}, "gh"},
		"into a new segment":        {catBytes{}, past("abcdef"), []string{"abcde", "fgh"}, "gh"},
		"both":                      {past("abcdef"), past("ghi"), []string{"abcdefghijk"}, "jk"},
		"retention":                 {catBytes{}, past("abcdef"), []string{"xyz", "abcdef"}, "xyzabcdef"},
		"another file of that name": {past("abcdef"), catBytes{}, []string{"xyz"}, "xyz"},
		"cut, then retention":       {past("abc"), past("def"), []string{"abcx", "def"}, "xdef"},
	} {
		r := catRepeat{cut: c.cut, deleted: c.deleted}
		got := ""
		for _, raw := range c.raw {
			got += string(r.strip([]byte(raw)))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
