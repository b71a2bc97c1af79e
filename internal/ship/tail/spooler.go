package tail

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// spoolName is the name of the spool in the state directory.
const spoolName = "spool"

// mostLogs bounds how many logs in replaced state directories stay open because of their
// records.
const mostLogs = 16

// spooler is the spool of a Source, with the memory for moving lines into it.
type spooler struct {
	log   *spool.Log // nil: nothing can be moved
	old   []*spool.Log
	block spool.Block
	data  []byte

	// pending are records whose source files have not been found and opened yet.
	pending map[position.Content][]source.Spooled
}

// area returns memory for n bytes of a block.
func (p *spooler) area(n int) []byte {
	p.data = slices.Grow(p.data[:0], n)[:n]
	return p.data
}

// rest frees the memory for moving and reading lines if no record is left.
func (p *spooler) rest(files map[position.Content]*source.File) {
	if p.resting() || len(p.pending) > 0 {
		return
	}
	for _, f := range files {
		if !f.Records.Empty() {
			return
		}
	}
	p.data, p.block = nil, spool.Block{}
	for l := range p.logs() {
		l.Rest()
	}
}

// resting reports whether there is nothing to free. Even a process that has moved nothing
// and only reads the records of an earlier process uses memory for its log.
func (p *spooler) resting() bool {
	for l := range p.logs() {
		if !l.Resting() {
			return false
		}
	}
	return p.data == nil
}

// logs yields the current log and the earlier ones.
func (p *spooler) logs() iter.Seq[*spool.Log] {
	return func(yield func(*spool.Log) bool) {
		for _, l := range p.old {
			if !yield(l) {
				return
			}
		}
		if p.log != nil {
			yield(p.log)
		}
	}
}

// open opens the spool in the state directory and adopts the records that an earlier process
// has left. It skips the records of contents that are already known: the records of these
// contents are in the log that was open before.
func (p *spooler) open(dir *directory, known func(position.Content) bool) error {
	f, err := statedir.OpenFile(dir.state, spoolName, unix.O_RDWR|unix.O_CREAT)
	if statedir.Transient(err) {
		return err
	}
	if err != nil {
		statedir.Displace(dir.state, spoolName)
		if f, err = statedir.OpenFile(dir.state, spoolName, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
	}
	if at := slices.IndexFunc(p.old, func(l *spool.Log) bool { return l.IsIn(f) }); at >= 0 {
		// The directory has come back. If two logs used one file, they would overwrite each
		// other.
		f.Close()
		p.log, p.old = p.old[at], slices.Delete(p.old, at, at+1)
		return nil
	}
	if len(p.old) >= mostLogs {
		f.Close()
		return errors.New("too many older files still have records")
	}
	log, found, err := spool.Open(f)
	if err != nil {
		f.Close()
		return err
	}
	p.log = log
	for _, r := range found {
		list := p.pending[r.Of]
		switch {
		case known(r.Of):
		case !naming.Valid(r.Stream):
			log.Free(r)
		default:
			// Only the last record may still have to be punched.
			if n := len(list); n > 0 {
				list[n-1].Full = false
			}
			p.pending[r.Of] = append(list, source.Spooled{Record: r, Log: log, Full: true})
		}
	}
	for _, list := range p.pending {
		slices.SortFunc(list, func(a, b source.Spooled) int { return cmp.Compare(a.From, b.From) })
	}
	return nil
}

// leave stops using the log, which may still hold records of files.
func (p *spooler) leave() {
	if p.log != nil {
		p.old = append(p.old, p.log)
		p.log = nil
	}
}

// closeUnused closes earlier logs that have no records of files and no pending records.
func (p *spooler) closeUnused(files map[position.Content]*source.File) {
	if len(p.old) == 0 {
		return
	}
	used := map[*spool.Log]bool{}
	for _, list := range p.pending {
		for i := range list {
			used[list[i].Log] = true
		}
	}
	for _, f := range files {
		for i := range f.Records.List {
			used[f.Records.List[i].Log] = true
		}
	}
	p.old = slices.DeleteFunc(p.old, func(l *spool.Log) bool {
		if !used[l] {
			l.Close()
		}
		return !used[l]
	})
}

// memory returns how many bytes of memory the logs take.
func (p *spooler) memory() (sum int64) {
	for l := range p.logs() {
		sum += l.Memory()
	}
	return sum
}

// close closes all logs.
func (p *spooler) close() {
	p.leave()
	for _, l := range p.old {
		l.Close()
	}
	p.old = nil
}

// take returns the pending records of a content after a position and frees the other
// pending records of the content.
func (p *spooler) take(of position.Content, behind int64) []source.Spooled {
	list := p.pending[of]
	delete(p.pending, of)
	return slices.DeleteFunc(list, func(r source.Spooled) bool {
		if r.From >= behind {
			return false
		}
		r.Log.Free(r.Record)
		return true
	})
}
