package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestABackoffDoublesUpToItsMost(t *testing.T) {
	b := Backoff{First: time.Second, Most: 5 * time.Second}
	next := func() (got []time.Duration) {
		for range 5 {
			got = append(got, b.Next()/time.Second)
		}
		return got
	}
	want := []time.Duration{1, 2, 4, 5, 5}
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("pauses of %d seconds, want %d", got, want)
	}
	b.Reset()
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("after a success, pauses of %d seconds, want %d", got, want)
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	if err := Sleep(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	why := errors.New("no more time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := Sleep(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("the error is %v, want %v", err, why)
	}
}
