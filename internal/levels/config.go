package levels

import (
	"flag"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/podmeta"
)

// Config has the settings of a [Loop] and of a [Command].
type Config struct {
	// Annotations is the downward-API file with the pod's annotations. Empty:
	// there are none.
	Annotations string

	Attach attach.Config

	// Source and Match are those of the shipped files: a JVM's output is ours
	// if it writes such a file. Not flags of this package.
	Source, Match string

	// Known are the names of annotations, without [Prefix], that are for
	// others: not flags, but no mistakes either.
	Known []string
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{Attach: attach.DefaultConfig()} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	c.Attach.Flags(fs)
	fs.StringVar(&c.Annotations, "annotations", c.Annotations,
		"`FILE` with the pod's annotations, as the downward API writes it; "+podmeta.Prefix+"log and the other live annotations take effect when the file changes")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error { return c.Attach.Validate() }
