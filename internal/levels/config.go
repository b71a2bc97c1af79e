package levels

import (
	"flag"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/podmeta"
)

// Config holds the settings of a [Loop] and of a [Command].
type Config struct {
	// Annotations is the downward-API file with the pod's annotations. If
	// empty, there are none.
	Annotations string

	Attach attach.Config

	// Source and Match select the shipped files: only JVM outputs that write
	// such a file are changed. Other packages declare their flags.
	Source, Match string

	// Known are the names, without [Prefix], of valid annotations that other
	// programs read. They are not flags.
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
