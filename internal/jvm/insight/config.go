package insight

import (
	"flag"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
)

// Config holds the settings of an [Insight].
type Config struct {
	// On says whether metrics of the JVM are derived from its log lines.
	On bool

	// Floor is the shortest duration at which a stop may be suspected of being a stall. Another
	// package declares the flag.
	Floor pause.Floor

	// Dest is the directory of the destination. The evidence of a verdict names the device of that
	// directory. If Dest is empty, the evidence names no such device. Not a flag.
	Dest string

	// Root is the directory that contains the kernel's proc and sys. Not a flag.
	Root string
}

// DefaultThreshold is the duration that a stop must exceed to be counted as slow, unless a trigger
// sets another threshold.
const DefaultThreshold = 500 * time.Millisecond

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{On: true, Root: "/"} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&c.On, "jvm-metrics", c.On, "read pauses, safepoints and heap sizes from the lines, and serve them as the metrics ullage_jvm_*; --jvm-metrics=false turns that off")
}
