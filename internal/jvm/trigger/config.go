package trigger

import (
	"flag"
	"fmt"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/pause"
)

// Config holds the settings of a [Set].
type Config struct {
	// SaveOn lists the conditions on which withheld lines are saved, in the form that
	// [ask.ParseTrigger] reads. If empty, they are saved only on request.
	SaveOn string

	// Floor is the shortest pause that can meet the condition io-stall. A safepoint can meet it only
	// if the part outside its pauses is at least that long. This package declares no flag for Floor.
	Floor pause.Floor

	// Stops says whether [Set.Stop] is called with each stop. If it is not, a safepoint cannot meet
	// the condition io-stall. Not a flag.
	Stops bool
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{SaveOn: "pause>500ms,io-stall,warning"} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.SaveOn, "hindsight-on", c.SaveOn, "persist the lines that --hindsight holds when one of these `CONDITIONS` is met, written as for a trigger; empty: only on 'ullage levels save'")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	if _, err := c.saveOn(); err != nil {
		return []error{fmt.Errorf("--hindsight-on: %w", err)}
	}
	return nil
}

// saveOn returns the trigger of SaveOn.
func (c Config) saveOn() (ask.Trigger, error) {
	if c.SaveOn == "" {
		return ask.Trigger{}, nil
	}
	return ask.ParseTrigger(c.SaveOn)
}
