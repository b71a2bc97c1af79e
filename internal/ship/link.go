package ship

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// link is everything that passes between the reader and the writer. Neither
// ever waits for the other while holding its lock.
type link struct {
	health
	queue *queue.Queue[tail.Chunk]

	held    *hindsight.Log // nil: withheld lines are not held
	save    chan struct{}  // anybody to writer: save what is held
	flush   chan flush     // reader to writer: commit everything that is queued
	flushed chan struct{}  // the answer
	rewind  chan rewind    // writer to reader: read again from the last commit
	wake    chan struct{}  // writer to reader: something was published, or a stream is refused

	syncBytes  atomic.Int64 // set by the reader once it knows the budget
	frameBytes atomic.Int64 // ... and so is this: most bytes of one frame
	progress   atomic.Int64 // when the destination last took something; ns
	oldest     atomic.Int64 // when the oldest appended, not committed line was read; ns, 0 for none
	commits    atomic.Int64

	mu          sync.Mutex
	published   map[tail.File]tail.Chunk
	lastCommit  time.Time
	refused     map[string]error // streams, and why; never changed in place
	refusedNews bool             // the reader has yet to take it in

	news  news                    // of the source, which the writer has yet to take in
	marks map[string]segment.Mark // committed, for others to see
}

// news is what the reader passes to the writer for the next checkpoint.
type news struct {
	dir     *os.File // the state directory, if dirNews; a descriptor of its own, or nil
	dirNews bool
	gone    []position.Content                  // that the checkpoint need not have any more
	back    map[position.Content]position.Saved // that it may have forgotten
}

// setDir passes on the state directory that is in use from now on, or none.
func (l *link) setDir(dir *os.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news.dir != nil {
		l.news.dir.Close()
	}
	l.news.dir, l.news.dirNews = nil, true
	if dir == nil {
		return
	}
	if fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		l.news.dir = os.NewFile(uintptr(fd), dir.Name())
	}
}

// setFiles passes on which contents are gone, and which came back.
func (l *link) setFiles(gone []position.Content, back map[position.Content]position.Saved) {
	if len(gone) == 0 && len(back) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news.gone = append(l.news.gone, gone...)
	if l.news.back == nil {
		l.news.back = back
	} else {
		maps.Copy(l.news.back, back)
	}
	for _, of := range gone {
		delete(l.news.back, of)
	}
}

// takeNews returns what the reader has passed on since the last call.
func (l *link) takeNews() news {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.news
	l.news = news{}
	return n
}

// setMarks lets others see where committed segments end.
func (l *link) setMarks(marks map[string]segment.Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.marks, marks)
}

// forgetMarks forgets streams that have ended.
func (l *link) forgetMarks(streams []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range streams {
		delete(l.marks, name)
	}
}

// flush asks the writer to commit everything that is queued.
type flush struct {
	claims bool // the checkpoint claims that lines of the source are durable, see [tail.Start.Claims]
}

// rewind asks the reader to read again from the last commit; of the streams in
// ends, from where their segments end. The answer is where that is.
type rewind struct {
	ends        map[string][]byte
	uncommitted bool // there was no commit: what was taken for one is forgotten
	news        bool // there should have been a checkpoint
	done        chan map[position.Content]position.Saved
}

func newLink(cfg Config) *link {
	const chunks = 1024 // descriptions; more small chunks than this wait on the source
	l := &link{
		// The spool may have a record of an earlier process, with a larger queue.
		queue:     queue.New[tail.Chunk](max(int(cfg.Queue), tail.AreaBytes), chunks, cfg.batchBytes(cfg.frameBytes())),
		save:      make(chan struct{}, 1),
		flush:     make(chan flush, 1),
		flushed:   make(chan struct{}, 1),
		rewind:    make(chan rewind),
		wake:      make(chan struct{}, 1),
		published: map[tail.File]tail.Chunk{},
		marks:     map[string]segment.Mark{},
	}
	l.syncBytes.Store(int64(cfg.SyncBytes))
	l.frameBytes.Store(int64(cfg.frameBytes()))
	return l
}

// setFrame sets how many bytes one frame has at most.
func (l *link) setFrame(cfg Config, bytes int) {
	l.frameBytes.Store(int64(bytes))
	l.queue.SetWake(cfg.batchBytes(bytes))
}

// publish passes to the reader that everything up to the given chunks is durable.
// It keeps the map, and returns another one to go on with.
func (l *link) publish(last map[tail.File]tail.Chunk) (next map[tail.File]tail.Chunk) {
	l.mu.Lock()
	if len(l.published) == 0 {
		last, l.published = l.published, last
	}
	maps.Copy(l.published, last)
	clear(last)
	l.lastCommit = time.Now()
	l.progress.Store(l.lastCommit.UnixNano())
	l.mu.Unlock()
	l.commits.Add(1)
	l.wakeReader()
	return last
}

func (l *link) wakeReader() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// takePublished calls each for what was published since the last call.
func (l *link) takePublished(each func(tail.Chunk)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.published {
		each(c)
	}
	clear(l.published)
}

// requestRewind makes the reader forget what is not committed, and waits until
// it has.
func (l *link) requestRewind(ctx context.Context, request rewind) (map[position.Content]position.Saved, error) {
	request.done = make(chan map[position.Content]position.Saved, 1)
	select {
	case l.rewind <- request:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case files := <-request.done:
		return files, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lag returns the age of the oldest line that was read and is not committed.
// While the destination fails, lines are read again and again: the first time
// counts.
func (l *link) lag(now time.Time) time.Duration {
	if since := l.waitingSince(); !since.IsZero() {
		return max(0, now.Sub(since))
	}
	if ns := l.oldest.Load(); ns != 0 {
		return max(0, now.Sub(time.Unix(0, ns)))
	}
	if c, ok := l.queue.Front(); ok {
		return max(0, now.Sub(c.Read))
	}
	return 0
}

// setRefused passes on which streams are refused.
func (l *link) setRefused(errs map[string]error) {
	l.mu.Lock()
	l.refused, l.refusedNews = errs, true
	l.mu.Unlock()
	l.wakeReader()
}

// takeRefused returns the streams that are refused, and whether that is news.
func (l *link) takeRefused() (names map[string]struct{}, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.refusedNews {
		return nil, false
	}
	l.refusedNews = false
	names = make(map[string]struct{}, len(l.refused))
	for name := range l.refused {
		names[name] = struct{}{}
	}
	return names, true
}

// refusals returns why streams are refused, by name. Nobody changes the map.
func (l *link) refusals() map[string]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// refusal says for how many streams, and why for the first of them, lines
// stay on the source; or nil.
func (l *link) refusal() error {
	refused := l.refusals()
	first := ""
	for name := range refused {
		if first == "" || name < first {
			first = name
		}
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("streams refused: %d; the others become durable: %w", len(refused), refused[first])
}
