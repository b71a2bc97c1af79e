package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A container may be told to end while it waits for a fetch, which then had less than its time.
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
		{ended, time.Hour, dest + " was not fetched before this process was to end"},
		{t.Context(), time.Nanosecond, dest + " was not fetched within 1ns"},
	} {
		if err := (&leaving{hold: c.hold}).linger(c.ctx, dest, newNotes(io.Discard)); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
