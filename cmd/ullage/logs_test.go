package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/test/lab"
)

// mkseg is a command for scripts. It adds a segment to a stream, with one
// frame for each file. A file over a frame's bound is split into several
// frames:
//
//	mkseg [-at TIME] [-compress FORMAT] DEST STREAM FILE...
//
// -at sets the time of creation in the segment's name. The FORMAT may also be gzip, the format of earlier versions.
func mkseg() {
	cfg := store.DefaultConfig()
	fs := flag.NewFlagSet("mkseg", flag.ExitOnError)
	at := fs.String("at", "", "")
	zipped := false
	fs.Func("compress", "", func(format string) error {
		if zipped = format == "gzip"; zipped {
			return nil
		}
		return cfg.Compress.Set(format)
	})
	fs.Parse(os.Args[1:])
	err := makeSegment(cfg, *at, fs.Arg(0), fs.Arg(1), fs.Args()[2:])
	if err == nil && zipped {
		err = zipNewest(filepath.Join(fs.Arg(0), fs.Arg(1)))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func makeSegment(cfg store.Config, at, dest, stream string, files []string) error {
	durable, err := store.Open(dest, cfg, nil, nil)
	if err != nil {
		return err
	}
	defer durable.Close()
	str := durable.Stream(stream)
	if _, _, err := str.Recover(); err != nil { // Append then begins a new segment
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

// zipNewest converts the newest segment into the format of earlier versions.
func zipNewest(stream string) error {
	segs, err := segment.List(stream)
	if err != nil {
		return err
	}
	newest := segs[len(segs)-1]
	r, err := segment.OpenListed(newest)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = lab.Zip(newest.Path, r.Next)
	return err
}
