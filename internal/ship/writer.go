package ship

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// newBackoff returns how long to wait before a failed destination or source is retried.
func newBackoff() retry.Backoff {
	return retry.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second}
}

// writer owns the destination. Everything in it is used by one goroutine.
type writer struct {
	cfg   Config
	log   *slog.Logger
	link  *link
	store *store.Store
	check *checkpoint.Checkpoint
	view  *view
	m     *metrics

	bounds  bounds
	streams map[string]*writerStream
	batch   []queue.Chunk[tail.Chunk]
	order   []*writerStream // the streams of the batch, by their first chunks
	staging staging

	ends      map[string][]byte       // the ends of recovered streams, until they are passed to the reader
	recovered map[string]segment.Mark // the marks of these streams, which become valid once the reader has begun again
	refused   refusals
	follow    announcer
	detail    *detail
	unsaved   bool // marks or a key must be saved in a checkpoint before the next append

	taken taken
	marks map[string]segment.Mark // of the commit in progress
}

// taken sums up the data that was appended since the last commit.
type taken struct {
	last    map[tail.File]tail.Chunk // the last chunk of each file
	bytes   int
	streams int       // number of streams with such data
	oldest  time.Time // when the first of the lines was read; zero: there are none
}

// A refusal is a stream that the destination refuses while it accepts others. The stream's
// lines stay in the source, where they are read again, or dropped as in an outage. Its
// lines in the queue are skipped. The stream is readmitted with a rewind of the reader, because
// only a rewind removes earlier lines from the queue.
type refusal struct {
	err   error
	place func() error // places its segments
}

// refusals are the streams that are currently refused.
type refusals struct {
	streams map[string]refusal
	logged  retry.Limiter // limits the log about refused streams
}

// bounds limit one commit.
type bounds struct {
	streams int           // number of segments that may be open at once, or be created
	room    int64         // bytes that the volume has room for
	sync    *atomic.Int64 // bytes that may wait for a commit
}

func (b bounds) bytes() int64 { return min(b.sync.Load(), b.room) }

// writerStream is the writer's side of a stream.
type writerStream struct {
	name, label string
	segments    *store.Stream
	parts       []int // indexes into the batch
	lines       [ul.NumLevels]uint64
	taken       int       // bytes, as queued
	bytes       uint64    // bytes of lines
	made        uint64    // bytes of gap markers among them, which are not from the JVM
	read        time.Time // when the last of the lines was read

	withheld   withheld
	saved      [ul.NumLevels]uint64 // lines that were withheld before and are persisted here
	savedBytes uint64               // bytes of these lines, which are included in bytes
}

// forget forgets the lines of the stream that were taken and not committed.
func (st *writerStream) forget() {
	none := [ul.NumLevels]uint64{}
	st.taken, st.bytes, st.made, st.savedBytes, st.parts = 0, 0, 0, 0, st.parts[:0]
	st.lines, st.withheld, st.saved = none, withheld{}, none
}

func newWriter(cfg Config, to Outlets, l *link, durable *store.Store, check *checkpoint.Checkpoint, d *detail, v *view, m *metrics, log *slog.Logger) *writer {
	_, maxOpen := tail.Descriptors()
	return &writer{
		cfg: cfg, log: log, link: l, store: durable, check: check, view: v, m: m,
		bounds:    bounds{streams: maxOpen, room: math.MaxInt64, sync: &l.syncBytes},
		streams:   map[string]*writerStream{},
		ends:      map[string][]byte{},
		recovered: map[string]segment.Mark{},
		refused:   refusals{streams: map[string]refusal{}},
		taken:     taken{last: map[tail.File]tail.Chunk{}},
		marks:     map[string]segment.Mark{},
		follow:    announcer{to: to, check: check},
		detail:    d,
	}
}

// nothing reports whether all lines that were read are committed. The argument is the number
// of queued bytes.
func (t *taken) nothing(queued int) bool { return t.bytes == 0 && queued == 0 }

// since returns when the oldest uncommitted line was read, or the zero time if all lines are
// committed.
func (t *taken) since(l *link) time.Time {
	if c, ok := l.queue.Front(); ok && t.oldest.IsZero() {
		return c.Read
	}
	return t.oldest
}

// forget forgets everything that was taken.
func (t *taken) forget() {
	clear(t.last)
	t.bytes, t.streams, t.oldest = 0, 0, time.Time{}
}

// filesInCommit is the number of files with uncommitted chunks at which a commit is due. The last
// batch may exceed it. The last chunk of each file is kept until the commit, so this bounds the
// memory if there are thousands of files.
const filesInCommit = 512

// full reports whether a commit is due before the next frame: too many bytes would be
// pending, too many segments would be open, or there are many files.
func (t *taken) full(frame int, b bounds) bool {
	return t.bytes > 0 && int64(t.bytes+frame) > b.bytes() || t.streams >= b.streams || len(t.last) >= filesInCommit
}

// worth reports whether so many bytes are pending that an idle writer commits them before the
// interval is over: until the commit, they take memory in the source. While there is a backlog,
// commits are larger and fewer.
func (t *taken) worth(most int64) bool { return int64(t.bytes) >= most/4 }
