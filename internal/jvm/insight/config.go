package insight

import (
	"flag"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
)

// Config holds the settings of an [Insight].
type Config struct {
	// On has the lines read for metrics of the JVM.
	On bool

	// Threshold returns what a stop must exceed to count as slow; 0, or a nil
	// Threshold, is DefaultThreshold. Not a flag.
	Threshold func() time.Duration

	// Floor is from which length on a stop is suspected of being a stall. Another package
	// declares the flag.
	Floor pause.Floor

	// OnStop is given each stop of the application, in a call of Line or of CaughtUp, and
	// for a safepoint in that of its line. It is not given those of a file that two JVMs
	// write to, whose pauses may be the other's. The stop is valid until OnStop returns. Nil:
	// nobody wants to know. Not a flag.
	OnStop func(*pause.Stop)

	// Root is the directory that has the kernel's proc and sys. Not a flag.
	Root string
}

// DefaultThreshold is what a stop must exceed to count as slow, unless a trigger has
// another threshold.
const DefaultThreshold = 500 * time.Millisecond

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{On: true, Root: "/"} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&c.On, "jvm-metrics", c.On, "read pauses, safepoints and heap sizes out of the lines, and serve them as the metrics ullage_jvm_*; --jvm-metrics=false leaves them out")
}

// threshold returns what a stop must exceed to be slow.
func (c *Config) threshold() time.Duration {
	if c.Threshold != nil {
		if d := c.Threshold(); d > 0 {
			return d
		}
	}
	return DefaultThreshold
}
