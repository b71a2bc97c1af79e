package main

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/incident"
	"github.com/ullage/ullage/internal/segment/store"
)

// Making an archive of many lines takes no more memory than making one of few lines, and the size of the archive is
// bounded too.
func TestTheMemoryForAnArchiveIsBounded(t *testing.T) {
	const line = "[2026-11-20T16:45:%02d.000+0000][%d.000s][debug][gc,phases] GC(%d) a line of a log at level debug\n"
	at := time.Date(2026, 11, 20, 16, 45, 0, 0, time.UTC)
	peak := func(lines int) (memory, size int64) {
		dest := t.TempDir()
		durable, err := store.Open(dest, store.DefaultConfig(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		str := durable.Stream("gc.log")
		if _, _, err := str.Recover(); err != nil {
			t.Fatal(err)
		}
		frame := bufio.NewWriterSize(appending{str}, 256<<10)
		for i := range lines {
			fmt.Fprintf(frame, line, i*60/lines, 100+i*60/lines, i)
		}
		if err := frame.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := str.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := durable.Close(); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(t.TempDir(), "incident.zip")
		cmd := exec.Command(os.Args[0], "incident", "--around", at.Format(time.RFC3339), "--output", archive, dest)
		// The same binary runs as the command, as in the scripts.
		cmd.Args[0] = "ullage"
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ullage incident ended with %v, want no error:\n%s", err, out)
		}
		r, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, f := range r.File {
			size += int64(f.UncompressedSize64)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, size
	}
	few, _ := peak(200_000) // 18 MB
	many, size := peak(1_000_000)
	t.Logf("memory: %d MiB for an archive of everything, %d MiB for five times as many lines; its parts have %d MiB", few>>20, many>>20, size>>20)
	if many > few+few/4 || size > incident.MaxArchive {
		t.Errorf("memory or size grows with the lines: %d MiB and %d MiB, want at most %d MiB and %d MiB", many>>20, size>>20, (few+few/4)>>20, incident.MaxArchive>>20)
	}
}

// appending appends to a stream.
type appending struct {
	to interface{ Append([]byte) error }
}

// Write implements [io.Writer].
func (a appending) Write(p []byte) (int, error) { return len(p), a.to.Append(p) }

var _ io.Writer = appending{}
