package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab/fakejvm"
	"github.com/ullage/ullage/test/lab/marked"
)

func TestRaisesAndRestoresAreMarked(t *testing.T) {
	r := newRig(t)
	var m marked.Marks
	r.to.Mark = m.Add
	fakejvm.Start(t, r.cfg.Attach.Tmp, 7, filepath.Join(r.cfg.Source, "gc-%p.log"), filepath.Join(r.cfg.Source, "safepoint.log"))
	p := r.process()
	const until = `until=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	r.annotate("log", "gc*=debug")
	p.step()
	m.Gives(t, `level-raised stream=gc-7.log pid=7 selection=gc\*=debug why="annotation ullage.dev/log" `+until,
		`level-raised stream=safepoint.log pid=7 selection=gc\*=debug why="annotation ullage.dev/log" `+until)
	r.annotate()
	p.step()
	m.Gives(t, `level-restored stream=gc-7.log pid=7 selection=gc\*=debug why="the annotation is gone"`,
		`level-restored stream=safepoint.log pid=7 selection=gc\*=debug why="the annotation is gone"`)
	// The marks of a command also say who ran it.
	by := fmt.Sprintf(`by="uid %d, pid %d"`, os.Geteuid(), os.Getpid())
	if _, _, err := p.set("gc*=trace", time.Hour); err != nil {
		t.Fatal(err)
	}
	m.Gives(t, `level-raised stream=gc-7.log pid=7 selection=gc\*=trace why="ullage levels set" `+by+" "+until,
		`level-raised stream=safepoint.log .* `+by+" "+until)
	if _, err := p.reset(); err != nil {
		t.Fatal(err)
	}
	m.Gives(t, `level-restored stream=gc-7.log pid=7 selection=gc\*=trace why="ullage levels reset" `+by,
		`level-restored stream=safepoint.log .* `+by)
}
