package sidecar

import (
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
)

// status asks each part to show itself.
func (p *parts) status(started time.Time) admin.Status {
	st := admin.Status{Version: p.of.Version, Started: started, UptimeSeconds: time.Since(started).Seconds(), Ready: true,
		Where:    admin.Where{Pod: p.cfg.Sinks.Pod.Name, Source: absolute(p.cfg.Ship.Tail.Source), Destination: absolute(p.cfg.Ship.Dest)},
		Compress: p.cfg.Ship.Segment.Compress.String()}
	if err := p.shipper.Ready(); err != nil {
		st.Ready, st.Reason = false, err.Error()
	}
	for _, part := range []interface{ Show(*admin.Status) }{p.shipper, p.rings, p.sinks, p.levels.Status(), p.jvms} {
		part.Show(&st)
	}
	if l := st.Levels; l != nil {
		l.OtherLogs = p.jvms.Files()
		if l.Trigger != nil && l.Off && st.JVMUser != nil {
			l.Trigger.Never += "; " + st.JVMUser.Advice
		}
	}
	return st
}

// absolute returns a path that is also valid in another working directory.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
