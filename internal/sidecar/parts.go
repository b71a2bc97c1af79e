package sidecar

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/jvm/census"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/ship/ring"
	"github.com/ullage/ullage/internal/ship/tail"
	"github.com/ullage/ullage/internal/sink"
)

// parts holds the parts of a sidecar. Each is created from earlier ones, and none does anything
// before run.
type parts struct {
	cfg Config
	of  build.Info
	log *slog.Logger
	reg *prometheus.Registry

	marking  *marking
	rings    *ring.Rings
	sinks    *sink.Set
	shipper  *ship.Shipper
	saving   *saving
	triggers *trigger.Set
	levels   *levels.Loop
	insight  *insight.Insight // nil: the lines are not read for metrics
	jvms     *census.Census
	recent   *recent
	server   *admin.Server
}

// assemble creates the parts of a sidecar for a valid cfg.
func assemble(cfg Config, of build.Info, log *slog.Logger) (*parts, error) {
	cfg.complete()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), of.Metric("ullage_build_info"))
	p := &parts{cfg: cfg, of: of, log: log, reg: reg, recent: &recent{}}
	p.marking = newMarking(cfg.Ship.Tail.Source, log)
	p.rings = ring.New(reg, log, p.marking.journal.Add)
	var err error
	if p.sinks, err = sink.New(cfg.Sinks, cfg.SinkKinds, cfg.Ship.Dest, reg, log); err != nil {
		return nil, err
	}
	p.shipper = ship.New(cfg.Ship, reg, log)
	p.saving = newSaving(p.shipper, p.marking.journal, log)
	p.triggers = trigger.New(cfg.Triggers, cfg.saves(p.saving), reg)
	p.levels = levels.New(cfg.Levels, p.triggers, levels.Outlets{AppLevels: p.rings.Raise, Mark: p.markLevel, Save: p.saving.save}, reg, log)
	if cfg.Insight.On {
		p.insight = insight.New(cfg.Insight, p.triggers, p.marking.journal.Add, reg, log)
	}
	p.jvms = census.New(cfg.Levels.Config, p.marks(), reg, log)
	if p.server, err = admin.New(cfg.Admin, reg, p.answers(), log); err != nil {
		return nil, err
	}
	return p, nil
}

// marks returns the functions that take the marks of JVMs and the data about their heaps.
func (p *parts) marks() census.Outlets {
	to := census.Outlets{Mark: p.marking.journal.Add, CatchUp: p.shipper.CatchUp}
	if p.insight != nil {
		to.Heap = p.insight.Heap
	}
	return to
}

// markLevel takes the marks of the levels.
func (p *parts) markLevel(m mark.Mark) {
	switch m.Kind {
	case mark.JVMAdopted:
		p.jvms.Adopted()
	case mark.LevelRaised, mark.AppLevelRaised:
		p.shipper.Prompt()
	}
	p.marking.journal.Add(m)
}

// complete sets the settings that follow from settings of other parts.
func (c *Config) complete() {
	if c.Sinks.Pod.Name == "" {
		c.Sinks.Pod.Name, _ = os.Hostname() // in a pod, this is the pod's name
	}
	c.Sinks.Formats = c.Ship.Tail.Formats
	if len(c.Sinks.URLs) > 0 {
		c.Ship.Segment.Reread = true
	}
	if age, whole := c.Sinks.SealAfter(c.SinkKinds); whole && age > 0 {
		c.Ship.Segment.SegmentAge = age
	}
	c.Triggers.Floor, c.Triggers.Stops = c.StallFloor, c.Insight.On
	c.Levels.Source, c.Levels.Match = c.Ship.Tail.Source, c.Ship.Tail.Match
	if c.Levels.Annotations != "" {
		c.Ship.Tail.Watched = filepath.Dir(c.Levels.Annotations)
	}
	c.Levels.Known = knownAnnotations()
	c.Insight.Floor, c.Insight.Dest = c.StallFloor, c.Ship.Dest
	c.Admin.Connections = tail.Connections()
}

// answers returns the answers of the admin HTTP about the other parts.
func (p *parts) answers() admin.Answers {
	started := time.Now()
	return admin.Answers{
		Ready:  p.shipper.Ready,
		Status: func() any { return p.status(started) },
		Recent: func() admin.Recent { return p.recent.answer(p.insight) },
	}
}
