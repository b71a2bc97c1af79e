package sidecar

import (
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/owner"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/ship/tail"
)

// connect returns the functions that receive the events of the shipper. busy is called with true
// while there is much to do, and with false afterwards. It may be nil.
func (p *parts) connect(busy func(bool)) ship.Outlets {
	line, caughtUp := p.cfg.observers(p.triggers, p.insight)
	to := ship.Outlets{
		Source: tail.Outlets{
			Line:    line,
			Mark:    p.marking.ofSource(p.jvms),
			Opened:  p.marking.begins(p.of),
			Rings:   p.rings.Wake,
			Watched: p.levels.Annotated,
		},
		Followers:   p.followers(),
		CaughtUp:    caughtUp,
		Busy:        busy,
		Opened:      p.rings.Open,
		Room:        p.rings.SetRoom,
		Destination: p.listenFor,
	}
	if p.insight != nil {
		to.Finished = p.insight.Finish
	}
	return to
}

// observers returns two functions: line receives each line that is read, and caughtUp is called
// when all lines were read. Each line is parsed at most once. Both are nil if no part needs lines.
func (c *Config) observers(triggers *trigger.Set, in *insight.Insight) (line func(stream string, line []byte, class ul.Class), caughtUp func()) {
	raises := c.Levels.Annotations != "" && c.Levels.Attach.Mode != attach.Off
	switch {
	case in != nil:
		line = func(stream string, line []byte, class ul.Class) {
			triggers.Line(line, class, in.Line(stream, line, class))
		}
		return line, func() { in.CaughtUp(); triggers.CaughtUp() }
	case raises || triggers.Saves():
		return func(_ string, line []byte, class ul.Class) { triggers.Line(line, class, nil) }, triggers.CaughtUp
	}
	return nil, nil
}

// followers returns the outlets for the parts that follow the segments while these are written:
// the sinks, and the list of the last gaps for /recent.
func (p *parts) followers() ship.Followers {
	follow := ship.Followers{OnGap: p.recent.gap}
	if len(p.cfg.Sinks.URLs) == 0 {
		return follow
	}
	follow.OnCommit, follow.Needed, follow.Deleted = p.sinks.Committed, p.sinks.Needs, p.sinks.Deleted
	if _, whole := p.cfg.Sinks.SealAfter(p.cfg.SinkKinds); whole {
		follow.SealAtEnd = true
	}
	return follow
}

// listenFor opens the socket on which the sidecar answers readers of the durable copy in dir. If dir
// is not a directory yet, listenFor does nothing: the shipper calls it again once it has opened the
// destination. If the shipper cannot open the destination, it reports that.
func (p *parts) listenFor(dir string) {
	if addr, err := owner.Address(dir); err == nil {
		p.server.ListenAt(addr)
	}
}
