package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/jvm/handover"
	"github.com/ullage/ullage/test/lab"
)

// A container may be told to stop while it waits for a fetch. The fetch then had less time than
// --hold grants, so the error must not say that the fetch was late.
func TestAnEndWhileAFetchIsAwaitedIsNotALateFetch(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(dest, 0o700); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		hold time.Duration
		want string
	}{
		{ended, time.Hour, dest + " was not fetched before this process had to end"},
		{t.Context(), time.Nanosecond, dest + " was not fetched within 1ns"},
	} {
		if err := (&leaving{hold: c.hold}).linger(c.ctx, dest, newNotes(io.Discard)); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A fetch may ask for the end of the adoption before the adopting process has begun to look for such a request.
func TestAFetchThatComesBeforeTheAdoptionEndsIt(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "copy")
	asks, stdin := io.Pipe()
	copied, stdout := io.Pipe()
	fetched := make(chan error, 1)
	go func() {
		fetched <- (&leaving{fetch: true, now: true}).take(t.Context(), dest, cli.Env{Stdin: asks, Stdout: stdout})
	}()
	if _, err := io.WriteString(stdin, "[]\n"); err != nil {
		t.Fatal(err)
	}
	adopting := &leaving{hold: time.Hour}
	if err := adopting.forget(dest); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dest, 0o700); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, time.Minute, "the adoption is to end", func() bool { return adopting.stopped(dest) })
	if err := os.WriteFile(dest+overMark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := handover.Read(copied, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, copied) }() // the padding of the tar
	if _, err := io.WriteString(stdin, handover.Confirmation+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-fetched; err != nil {
		t.Error(err)
	}
	stdout.Close() // ends the reader of the padding
}
