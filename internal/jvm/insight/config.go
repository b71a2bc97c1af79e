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

	// Floor is the length at which a stop may be suspected of being a stall. Another
	// package declares the flag.
	Floor pause.Floor

	// Dest is the directory of the destination, whose device the evidence of a verdict names. Empty:
	// it names none. Not a flag.
	Dest string

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
