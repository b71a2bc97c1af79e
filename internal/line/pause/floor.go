package pause

import (
	"errors"
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
)

// Floor is the least length at which a pause, or another part of a stop that a [Suspicion] names, is
// suspected of being a stall. The zero value is [DefaultFloor]. It implements [flag.Getter].
type Floor time.Duration

// DefaultFloor is the floor unless another one is set. The JVM's own work rarely takes as
// long, and a disk that stalls takes longer.
const DefaultFloor = Floor(100 * time.Millisecond)

// Bounds of a Floor. HotSpot shows CPU times in hundredths of a second: with a floor of a few
// of these, whether a pause is idle is a matter of rounding, but not how long a safepoint is.
const (
	minFloor = Floor(time.Millisecond)
	maxFloor = Floor(time.Hour)
)

// Flags declares the setting on fs, with the value of f as its default.
func (f *Floor) Flags(fs *flag.FlagSet) {
	fs.Var(f, "stall-floor", "`DURATION` from which on a pause, or what a safepoint does outside its pauses, is suspected of being a stall")
}

// Duration returns the floor as a duration.
func (f Floor) Duration() time.Duration {
	if f == 0 {
		return time.Duration(DefaultFloor)
	}
	return time.Duration(f)
}

// String returns the floor as [time.Duration] writes it.
func (f *Floor) String() string { return f.Duration().String() }

// Get returns the floor as a duration.
func (f *Floor) Get() any { return f.Duration() }

// Set reads a duration, which must be one that a floor can have.
func (f *Floor) Set(text string) error {
	d, err := settings.ParseDuration(text)
	if err != nil || Floor(d) < minFloor || Floor(d) > maxFloor {
		return errors.New("write a duration from 1ms to 1h, like 100ms")
	}
	*f = Floor(d)
	return nil
}
