package outputs

import (
	"testing"

	"github.com/ullage/ullage/internal/jvm/attach"
)

func FuzzAims(f *testing.F) {
	f.Add("gc-7.log", "/x/gc-%p.log", 7)
	f.Add("app-2026-11-23_08-00-00.log", "/x/app-%t.log", 7)
	f.Add("%t", "/x/%t%t", 1)
	f.Fuzz(func(t *testing.T, stream, file string, pid int) {
		Aims(stream, attach.JVM{PID: pid}, attach.Output{Name: "file=" + file, Decorators: "level"})
	})
}
