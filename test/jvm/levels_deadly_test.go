package jvm

import (
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// If perf+class+link is raised at run time, as by all=info, HotSpot 25 dies when it loads the next class.
func TestLevelsOfEverythingDoNotKillTheJVM(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		log := Output{Selection: "gc=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
		loads := filepath.Join(t.TempDir(), "loads")
		jvm := r.listening(place{}, []string{log.Flag()}, "Load", "600000", loads)
		before := jvm.configuration()
		last := before
		for _, selection := range []string{"all=info", "perf*=debug", "class*=trace"} {
			r.want(selection, "1h")
			lab.Eventually(t, patience, "the JVM takes "+selection, func() bool { return jvm.configuration() != last })
			last = jvm.configuration()
			enough := size(r.rig, loads) + 20
			lab.Eventually(t, patience, "the JVM loads more classes", func() bool {
				if ended(jvm.Process) {
					t.Fatalf("%s has killed the JVM: %v", selection, jvm.Wait(0))
				}
				return size(r.rig, loads) >= enough
			})
		}
		r.annotate(nil)
		r.configured(jvm, before)
	})
}
