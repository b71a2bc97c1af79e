package source

import (
	"testing"

	"github.com/ullage/ullage/internal/line/format"
)

func TestFlowingForgetsAFileThatIsGone(t *testing.T) {
	table := New(format.Rules{})
	f := &File{Inode: Inode{FD: -1}}
	table.Add(f, "gc.log")
	table.Flow(f)
	table.Forget(f)
	table.TouchFlowing()
	if n := len(table.flowing); n > 0 {
		t.Errorf("%d files flow, but the table has no file", n)
	}
	if table.flowing[:1][0] != nil {
		t.Error("the list keeps a closed file alive")
	}
	if f.Growth.Dirty {
		t.Error("a file that no longer exists still gets a turn")
	}
}
