package sidecar

import (
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/sink"
)

// Config has all settings of `ullage run`.
type Config struct {
	Ship     ship.Config
	Levels   levels.Config
	Triggers trigger.Config
	Insight  insight.Config
	Admin    admin.Config
	Sinks    sink.Config

	// SinkKinds are the known kinds of sinks, by the scheme of their URLs. Not a flag.
	SinkKinds map[string]sink.Kind

	Log settings.Log

	// Shown, if not nil, is called with the answers of the sidecar before the sidecar begins. Not a flag.
	Shown func(admin.Answers)

	// StallFloor is the shortest length at which a stop of a JVM is suspected of being a stall. If
	// zero, it is [pause.DefaultFloor]. Not a flag.
	StallFloor pause.Floor

	// YieldAfter is how long the sidecar waits for the first log of a JVM before
	// it exits, once in the life of the pod. If zero, it waits without a limit.
	YieldAfter time.Duration
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Ship: ship.DefaultConfig(), Levels: levels.DefaultConfig(), Triggers: trigger.DefaultConfig(), Insight: insight.DefaultConfig(), Admin: admin.DefaultConfig(), Sinks: sink.DefaultConfig()}
}

// Groups returns every setting with the values of c as defaults, grouped by parts of the sidecar.
func (c *Config) Groups() []settings.Group {
	return append(c.Ship.Groups(),
		settings.Group{Title: "Levels of the JVMs, and hindsight", Flags: func(fs *flag.FlagSet) { c.Levels.Flags(fs); c.Triggers.Flags(fs) }},
		settings.Group{Title: "Metrics, status and the live page", Flags: func(fs *flag.FlagSet) { c.Admin.Flags(fs); c.Insight.Flags(fs) }},
		settings.Group{Title: "Further copies", Flags: c.Sinks.Flags},
		settings.Group{Title: "The sidecar itself", Flags: c.flags},
	)
}

// Flags declares every setting on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) { settings.Declare(fs, c.Groups()) }

func (c *Config) flags(fs *flag.FlagSet) {
	c.Log.Flags(fs)
	settings.DurationVar(fs, &c.YieldAfter, "yield-after", c.YieldAfter, "exit with 0, once, if no log appears in the source within this `DURATION`; 0: never. (If another webhook strips\nthe sidecar's restartPolicy, the pod starts its JVM only when the sidecar has ended. The injector sets this flag for such pods.)")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	bad := slices.Concat(c.Ship.Validate(), c.Levels.Validate(), c.Triggers.Validate(), c.Admin.Validate(), c.Sinks.Validate(c.SinkKinds))
	if c.YieldAfter < 0 {
		bad = append(bad, fmt.Errorf("--yield-after %s must not be negative", c.YieldAfter))
	}
	return bad
}

// knownAnnotations returns the annotations, without their prefix, that are not live:
// annotations that set flags, and annotations that only configure the injection.
func knownAnnotations() []string {
	known := ask.AtAdmission()
	cfg := DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	return known
}
