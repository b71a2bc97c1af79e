package hindsight

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/frame"
)

// fileName is the name of the log in the state directory.
const fileName = "hindsight"

// State is the part of a [Log] that is in the checkpoint: offsets in the log's file. The
// zero value is the state of an empty log.
type State struct {
	Head  int64 `json:"head"`            // where the oldest record begins
	End   int64 `json:"end"`             // where the next record will begin
	Until int64 `json:"until,omitempty"` // lines written before this time are saved, in ns as in a record; 0: nothing is saved
}

// Log is the hindsight of one source. Make it with [New]; it holds nothing before
// [Log.Attach]. Only the writer may call its methods, except [Log.Yield], [Log.SaveUntil],
// [Log.SetLimit] and [Log.Stats], which are safe for concurrent use.
type Log struct {
	window time.Duration
	began  time.Time    // see nanos
	until  atomic.Int64 // the requested end of saving, in ns as in a record

	mu        sync.Mutex
	limit     int64
	file      *os.File // nil: nothing is held
	now       State    // Until is unused
	committed State
	first     *head // the head of the record at now.Head; nil: not read yet

	codec frame.Codec
	buf   []byte // of one record
	lines []byte // of one record
	own   frame.Seals
}

// New returns a Log that keeps records for a window, and at most limit bytes of them.
func New(window time.Duration, limit int64) *Log {
	return &Log{window: window, began: time.Now(), limit: limit}
}

// nanos returns a time in the form of records and [State]: Unix time as if the system clock had
// not been set since the process began. Otherwise, after the clock was set back, lines would
// not expire, and saving would not end, until the clock had caught up.
func (l *Log) nanos(t time.Time) int64 { return l.began.UnixNano() + int64(t.Sub(l.began)) }

// time is the inverse of nanos.
func (l *Log) time(nanos int64) time.Time {
	return l.began.Add(time.Duration(nanos - l.began.UnixNano()))
}

// SetLimit changes how many bytes the log may hold.
func (l *Log) SetLimit(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = bytes
}

// Attach opens the file in the state directory dir; nil means that there is none. The
// content of a previous directory is forgotten. The log is empty until [Log.Resume] sets
// which part of the file is valid. After an error the log holds nothing.
func (l *Log) Attach(dir *os.File) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
	l.now, l.committed, l.first = State{}, State{Until: l.committed.Until}, nil
	if dir == nil {
		return nil
	}
	f, err := statedir.OpenFile(dir, fileName, unix.O_RDWR|unix.O_CREAT)
	if err != nil && !statedir.Transient(err) {
		statedir.Displace(dir, fileName)
		f, err = statedir.OpenFile(dir, fileName, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	}
	if err != nil {
		return fmt.Errorf("open the hindsight: %w", err)
	}
	l.file = f
	return nil
}

// Remove removes the file from the state directory dir, if it exists: nothing is held any
// more. If dir is nil, there is no directory.
func Remove(dir *os.File) {
	if dir != nil {
		_ = unix.Unlinkat(int(dir.Fd()), fileName, 0) // most often there is no file
	}
}

// Resume continues with the records in the state of a checkpoint, and cuts off the rest of
// the file. If the state does not match the file, the log is empty. Lines are saved for at
// most one more window, since the clock may have been set back in the meantime.
func (l *Log) Resume(s State) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Until = min(s.Until, l.nanos(time.Now().Add(l.window)))
	l.until.Store(max(l.until.Load(), s.Until))
	if l.file == nil {
		return nil
	}
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("resume the hindsight: %w", err)
	}
	if s.Head < 0 || s.Head > s.End || s.End > info.Size() {
		s = State{Until: s.Until}
	}
	l.now, l.committed, l.first = s, s, nil
	if err := l.file.Truncate(s.End); err != nil {
		return fmt.Errorf("resume the hindsight: %w", err)
	}
	frame.Punch(l.file, 0, s.Head)
	return nil
}

// Close closes the file and leaves the records in it.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
}

// closeFile closes the file, if one is open. The caller holds mu.
func (l *Log) closeFile() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// SaveUntil asks for the held lines, and all lines that are written before the given time, to be
// saved.
func (l *Log) SaveUntil(t time.Time) {
	for at := l.nanos(t); ; {
		was := l.until.Load()
		if was >= at || l.until.CompareAndSwap(was, at) {
			return
		}
	}
}

// State returns the state for the next checkpoint.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{l.now.Head, l.now.End, l.until.Load()}
}

// Committed records that a checkpoint with the state s was saved. It frees the records before the
// Head of s. The state must be a result of [Log.State] since the last Attach.
func (l *Log) Committed(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.committed.Head
	l.committed = s
	frame.Punch(l.file, from, s.Head)
}

// Rewind undoes everything that was appended and saved since the last commit.
func (l *Log) Rewind() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.first = l.committed, nil
}

// Yield frees all records, because the memory is needed for lines that are not withheld. It
// returns how many bytes that frees.
func (l *Log) Yield() (freed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	freed = l.now.End - l.committed.Head
	l.now.Head, l.first = l.now.End, nil
	l.free()
	return max(0, freed)
}

// free frees forgotten records without waiting for the next checkpoint. Until that checkpoint, a
// restart still begins at the earlier head. If a page was freed there, the restart finds no record
// and forgets everything.
func (l *Log) free() {
	frame.Punch(l.file, l.committed.Head, l.now.Head)
	l.committed.Head = min(l.now.Head, l.committed.End)
}

// Stats describes the content of a [Log].
type Stats struct {
	Bytes  int64     // memory on the tmpfs
	Oldest time.Time // the earliest time at which the oldest lines were written; zero: nothing is held
	Until  time.Time // lines written before this time are saved; zero: nothing is saved
}

// Stats describes the content of the log.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := Stats{Bytes: l.now.End - l.committed.Head}
	if h := l.peek(); h != nil {
		st.Oldest = l.time(h.since).Round(0) // another process may have written the record, so the time must not have a monotonic clock reading
	}
	if until := l.until.Load(); until > 0 {
		st.Until = l.time(until)
	}
	return st
}

// errNoFile reports that there is nowhere to hold lines.
var errNoFile = errors.New("the state directory is missing")
