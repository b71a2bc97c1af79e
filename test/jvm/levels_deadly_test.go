package jvm

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// loadPause is from one class that the program loads to the next.
const loadPause = 10 * time.Millisecond

// HotSpot 25 dies at the next class that it loads if perf+class+link is raised
// at run time, which all=info does.
func TestLevelsOfEverythingDoNotKillTheJVM(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		log := Output{Selection: "gc=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
		jvm := r.listening(place{}, []string{log.Flag()}, "Load", "600000")
		before := jvm.configuration()
		last := before
		for _, selection := range []string{"all=info", "perf*=debug", "class*=trace"} {
			r.want(selection, "1h")
			lab.Eventually(t, patience, "the JVM takes "+selection, func() bool { return jvm.configuration() != last })
			last = jvm.configuration()
			time.Sleep(20 * loadPause)
			if ended(jvm.Process) {
				t.Fatalf("%s has killed the JVM: %v", selection, jvm.Wait(0))
			}
		}
		r.annotate(nil)
		r.configured(jvm, before)
	})
}
