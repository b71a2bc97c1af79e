package levels

import (
	"flag"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
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

	// TriggerCooldown is the pause of a trigger after its raise: from the moment
	// at which everything written during the raise has been read. If zero, the
	// trigger is armed then. Not a flag.
	TriggerCooldown time.Duration

	// StallFloor is from which length on a pause, or what a safepoint does beside its
	// pauses, meets the condition io-stall. Stops says that [Watch.Stop] gets each stop: only
	// then can a safepoint meet it. Neither is a flag here.
	StallFloor pause.Floor
	Stops      bool

	// HindsightOn are the conditions on which withheld lines are saved, as
	// [ask.ParseTrigger] reads them. Empty: only on request.
	HindsightOn string

	// Known are the names, without [Prefix], of valid annotations that other
	// programs read. They are not flags.
	Known []string

	// OnAppLevel is given, at each update, the level from which on the application's events
	// are wanted; [ul.Unknown] leaves that to the application. It must not block. Nil: nobody can
	// raise them. Not a flag.
	OnAppLevel func(ul.Level)

	// OnMark is given the raises and restores, and the starts and ends of JVMs. It must
	// not block. Nil: nobody wants to know. Not a flag.
	OnMark func(mark.Mark)

	// OnSave is called, by several goroutines, when somebody asks to save withheld lines,
	// with the kind of the cause and the reason for people. It must not block. Nil: none
	// are held. Not a flag.
	OnSave func(cause, why string) (Saving, error)
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Attach: attach.DefaultConfig(), TriggerCooldown: time.Minute, HindsightOn: "pause>500ms,io-stall,warning"}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	c.Attach.Flags(fs)
	fs.StringVar(&c.Annotations, "annotations", c.Annotations,
		"`FILE` with the pod's annotations, as the downward API writes it; "+ask.Prefix+"log and the other live annotations take effect when the file changes")
	fs.StringVar(&c.HindsightOn, "hindsight-on", c.HindsightOn, "`CONDITIONS`, as of a trigger, on which the lines that --hindsight holds are persisted; empty: only on 'ullage log save'")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	bad := c.Attach.Validate()
	if c.HindsightOn != "" {
		if _, err := ask.ParseTrigger(c.HindsightOn); err != nil {
			bad = append(bad, fmt.Errorf("--hindsight-on: %w", err))
		}
	}
	return bad
}
