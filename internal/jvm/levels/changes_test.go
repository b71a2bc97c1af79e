package levels

import (
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/test/lab/fakejvm"
)

// Raising a JVM with two shipped outputs counts as one raise, and restoring the JVM as one restore.
func TestARaiseIsCountedOncePerJVM(t *testing.T) {
	r := newRig(t)
	two := []string{filepath.Join(r.cfg.Source, "gc.log"), filepath.Join(r.cfg.Source, "safepoint.log")}
	fakejvm.Start(t, r.cfg.Attach.Tmp, 7, two...)
	fakejvm.Start(t, r.cfg.Attach.Tmp, 8, two...)
	p := r.process()
	r.annotate("log", "gc*=debug")
	p.step()
	p.log.says(t, 4, "log level raised")
	p.hasMetric(2, "ullage_level_raises_total", "annotation")
	r.annotate()
	p.step()
	p.log.says(t, 4, "log level restored")
	p.hasMetric(2, "ullage_level_restores_total")
}
