package pause

import (
	"errors"
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
)

// Floor is the least length at which a pause, or another part of a stop that a [Suspicion] names, is
// suspected of being a stall. The zero value means [DefaultFloor]. Floor implements [flag.Getter].
type Floor time.Duration

// DefaultFloor is the default floor. The JVM's own work rarely takes that long, and a disk
// stall takes longer.
const DefaultFloor = Floor(100 * time.Millisecond)

// Bounds of a Floor. HotSpot rounds CPU times to hundredths of a second. With a floor of a few
// hundredths, rounding decides whether a pause is idle, but the length of a safepoint is exact.
const (
	minFloor = Floor(time.Millisecond)
	maxFloor = Floor(time.Hour)
)

// Flags declares the setting on fs, with the value of f as its default.
func (f *Floor) Flags(fs *flag.FlagSet) {
	fs.Var(f, "stall-floor", "suspect a stall if a pause, or a safepoint outside its pauses, takes at least this `DURATION`")
}

// Duration returns the floor as a duration.
func (f Floor) Duration() time.Duration {
	if f == 0 {
		return time.Duration(DefaultFloor)
	}
	return time.Duration(f)
}

// String returns the floor in the form of [time.Duration].
func (f *Floor) String() string { return f.Duration().String() }

// Get returns the floor as a duration.
func (f *Floor) Get() any { return f.Duration() }

// Set reads a duration, which must be within the bounds of a floor.
func (f *Floor) Set(text string) error {
	d, err := settings.ParseDuration(text)
	if err != nil || Floor(d) < minFloor || Floor(d) > maxFloor {
		return errors.New("write a duration from 1ms to 1h, like 100ms")
	}
	*f = Floor(d)
	return nil
}
