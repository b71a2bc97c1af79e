package levels

import (
	"errors"
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

	// Adopt is the selection for JVMs without an output into the source: they are given an output
	// there, unless an annotation says otherwise. If zero, they are given no output.
	Adopt ask.Selection

	// TriggerCooldown is how long a trigger stays disarmed after its raise,
	// counted from when everything written during the raise has been read. Not a
	// flag.
	TriggerCooldown time.Duration

	// Known lists the names, without [ask.Prefix], of valid annotations that other programs read.
	// Not a flag.
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
	fs.Var((*adopted)(&c.Adopt), "adopt", "while the sidecar runs, give each JVM without an output into the source such an output with this `SELECTION`,\nas in -Xlog; off or empty: none")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	bad := c.Attach.Validate()
	if !c.Adopt.IsZero() && c.Attach.Mode == attach.Off {
		bad = append(bad, errors.New("--adopt must be able to reach the JVMs: use --attach auto, shared-tmp or process-namespace"))
	}
	return bad
}

// adopted is the value of the flag --adopt.
type adopted ask.Selection

// Set implements [flag.Value].
func (a *adopted) Set(text string) error {
	s, err := ask.ParseAdopted(text)
	if err == nil {
		*a = adopted(s)
	}
	return err
}

func (a *adopted) String() string { return ask.Selection(*a).String() }
