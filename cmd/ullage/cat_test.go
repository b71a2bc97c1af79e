package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
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

func TestParseTime(t *testing.T) {
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
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-10m", "yesterday", "10", "2026-13-01", "16:45"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
