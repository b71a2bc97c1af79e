package ship

import (
	"maps"
	"os"
	"sync"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/position"
)

// news is what the reader passes to the writer for the next checkpoint.
type news struct {
	mu sync.Mutex
	report
}

// report is the reader's news about the source.
type report struct {
	dir     *os.File // a duplicate descriptor of the state directory if dirNews is set, or nil
	dirNews bool
	gone    []position.Content                  // contents that the checkpoint no longer needs
	back    map[position.Content]position.Saved // positions that the checkpoint may have forgotten
}

// setDir reports the state directory that is used from now on, or nil.
func (n *news) setDir(dir *os.File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir != nil {
		n.dir.Close()
	}
	n.dir, n.dirNews = statedir.Dup(dir), true
}

// setFiles reports which contents are gone and which files came back.
func (n *news) setFiles(gone []position.Content, back map[position.Content]position.Saved) {
	if len(gone) == 0 && len(back) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = append(n.gone, gone...)
	if n.back == nil {
		n.back = back
	} else {
		maps.Copy(n.back, back)
	}
	for _, of := range gone {
		delete(n.back, of)
	}
}

// take returns the news that was passed on since the last call.
func (n *news) take() report {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.report
	n.report = report{}
	return r
}

// apply updates the checkpoint from the report. If the state directory has changed, the checkpoint
// and d switch to the new one, or to none.
func (r report) apply(check *checkpoint.Checkpoint, d *detail) {
	check.Forget(r.gone)
	check.Add(r.back)
	if r.dirNews {
		check.Attach(r.dir)
		d.attach(r.dir)
	}
	if r.dir != nil {
		r.dir.Close()
	}
}
