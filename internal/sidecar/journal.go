package sidecar

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
)

// Bounds on the rate of marks. JVMs, and programs that truncate their logs, may cause any
// number of them.
const (
	maxMarks   = 60 // apart from figures, which must not suppress marks of events
	maxFigures = 40 // further figures are lost; readers notice that figures are missing
	period     = time.Minute
)

// journal appends marks to the file of the source. It never waits: if the file cannot be
// written, or there are too many marks, marks are lost. It is safe for concurrent use. A nil
// journal takes marks and does nothing.
type journal struct {
	source string
	log    *slog.Logger
	now    func() time.Time

	mu         sync.Mutex
	since      time.Time // the beginning of the current period
	marks      int       // number of marks since then, without figures
	figures    int       // number of figures since then
	suppressed int       // number of suppressed marks that no mark reports yet
	failing    bool      // the last mark could not be written, and a log line reports it
}

// newJournal returns the journal of a source, which need not exist yet. It has no side effects.
func newJournal(source string, log *slog.Logger) *journal {
	return &journal{source: source, log: log, now: time.Now}
}

// Add appends a mark, with the current time if it has none. Beyond 60 marks in a minute it only
// counts them. The count is written before the next mark, or when the journal is closed.
func (j *journal) Add(m mark.Mark) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	if since := now.Sub(j.since); since >= period || since < 0 {
		j.since, j.marks, j.figures = now, 0, 0
	}
	if m.Kind == mark.JVMFigures {
		if j.figures++; j.figures <= maxFigures {
			j.write(now, m)
		}
		return
	}
	if j.marks++; j.marks > maxMarks {
		j.suppressed++
		return
	}
	j.write(now, m)
}

// Close reports the marks that were suppressed last. It then appends the given last marks,
// regardless of the limit.
func (j *journal) Close(last ...mark.Mark) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(j.now(), last...)
}

// write appends marks, after a mark for the suppressed ones.
func (j *journal) write(now time.Time, marks ...mark.Mark) {
	var text []byte
	if j.suppressed > 0 {
		m := mark.New(mark.MarksSuppressed, "count", strconv.Itoa(j.suppressed))
		m.Time = now
		text = m.Append(text)
	}
	for _, m := range marks {
		if m.Time.IsZero() {
			m.Time = now
		}
		text = m.Append(text)
	}
	if len(text) == 0 {
		return
	}
	err := j.append(text)
	if err == nil {
		j.failing, j.suppressed = false, 0
		return
	}
	if !j.failing {
		j.failing = true
		// messages.md#the-source: The tmpfs is full or read-only, or something else has the name
		// `SOURCE/ullage.log`. Marks are lost until one can be written; everything else works.
		// Logged once until then.
		j.log.Warn("writing a mark failed", "error", err, "hint", "marks are lost until one can be written; everything else works")
	}
}

// append appends whole lines to the file, or nothing.
func (j *journal) append(text []byte) error {
	dir, err := os.OpenFile(j.source, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the source: %w", err)
	}
	defer dir.Close()
	f, err := statedir.OpenFile(dir, mark.Stream, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close() // only a network file system could return an error here
	if err := reserve(f, len(text)); err != nil {
		return fmt.Errorf("reserve space for a mark: %w", err)
	}
	n, err := f.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}

// reserve allocates the next n bytes of a file. Otherwise, a full tmpfs could accept a part of
// a line. If the file system does not support allocation, reserve succeeds without it.
func reserve(f *os.File, n int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), int64(n))
	if err == unix.ENOSPC || err == unix.EDQUOT || err == unix.EFBIG {
		return err
	}
	return nil
}
