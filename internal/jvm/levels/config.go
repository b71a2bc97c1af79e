package levels

import (
	"flag"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

// Config holds the settings of a [Loop].
type Config struct {
	outputs.Config

	// Annotations is the downward-API file with the pod's annotations. If
	// empty, there are none.
	Annotations string

	// TriggerCooldown is how long a trigger stays disarmed after its raise,
	// counted from when everything written during the raise has been read. Not a
	// flag.
	TriggerCooldown time.Duration

	// Known are the names, without [Prefix], of valid annotations that other
	// programs read. They are not flags.
	Known []string
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Config: outputs.Config{Attach: attach.DefaultConfig()}, TriggerCooldown: time.Minute}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	c.Attach.Flags(fs)
	fs.StringVar(&c.Annotations, "annotations", c.Annotations,
		"`FILE` with the pod's annotations, as the downward API writes it; "+ask.Prefix+"log and the other live annotations take effect when the file changes")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error { return c.Attach.Validate() }
