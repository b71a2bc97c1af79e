package ship

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// refusedRetry is how often streams are tried again that the destination
// refuses.
const refusedRetry = 5 * time.Second

// A refusal is a stream that the destination refuses, while it takes others.
// Its lines stay on the source, where they are read again, or dropped, as in
// an outage; what of it is in the queue is passed over. It comes back with a
// rewind: only that leaves nothing in the queue that was read before.
type refusal struct {
	err   error
	place func() error // places its segments
}

// refusals are the streams that are refused now.
type refusals struct {
	streams map[string]refusal
	told    time.Time // when it was last logged that a stream is refused
}

// refusedReasons are the label values of ullage_refused_streams.
var refusedReasons = []struct {
	reason string
	errnos []unix.Errno
}{
	{"occupied", []unix.Errno{unix.ENOTDIR, unix.EISDIR, unix.ELOOP}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{"name", []unix.Errno{unix.EINVAL, unix.EILSEQ, unix.ENAMETOOLONG}},
}

func (r refusal) reason() string {
	for _, k := range refusedReasons {
		for _, errno := range k.errnos {
			if errors.Is(r.err, errno) {
				return k.reason
			}
		}
	}
	return otherError
}

// refuse goes on without a stream. Place is how it is tried again.
func (w *writer) refuse(name string, err error, place func() error) {
	w.store.Stream(name).Abandon()
	w.m.destinationErrors.WithLabelValues(errorKind(err)).Inc()
	w.refused.streams[name] = refusal{err, place}
	w.showRefused()
	if now := time.Now(); now.Sub(w.refused.told) > time.Minute {
		w.refused.told = now
		w.log.Error("destination refuses a stream",
			"stream", name, "dest", w.cfg.Dest, "retry", refusedRetry.String(), "error", err,
			"hint", "its lines stay on the source and the other streams continue; /status lists all refused streams")
	}
}

// refuseOpen is refuse for a stream that was placed. What was appended of it
// and not committed is behind its mark, where the next resume cuts it off.
func (w *writer) refuseOpen(st *writerStream, err error) {
	for f := range w.taken.last {
		if f.Stream().Name() == st.name {
			delete(w.taken.last, f)
		}
	}
	w.taken.bytes -= st.taken
	if w.taken.streams--; w.taken.bytes == 0 {
		w.taken.oldest = time.Time{}
		w.link.oldest.Store(0)
	}
	st.forget()
	delete(w.streams, st.name)
	w.refuse(st.name, err, func() error { return w.resume(st) })
}

// readmit tries the refused streams again. Those that can be placed are read
// from their last commit; so are the others, since what of them is in the queue
// goes with the rest of it. A stream that was never placed and has no files any
// more is forgotten. It reports whether the reader begins again.
func (w *writer) readmit(ctx context.Context) (rewound bool, err error) {
	var back []string
	for name, r := range w.refused.streams {
		err := r.place()
		_, marked := w.check.Mark(name)
		switch {
		case err == nil:
			back = append(back, name)
		case !errors.Is(err, segment.ErrRefused):
			return false, err
		case !marked && !w.view.hasRefused(name):
			w.tolerate(w.store.Stream(name).Close())
			back = append(back, name)
		default:
			w.refused.streams[name] = refusal{err, r.place}
		}
	}
	if len(back) == 0 {
		return false, nil
	}
	if err := w.commit(ctx); err != nil {
		return false, err
	}
	for _, name := range back {
		delete(w.refused.streams, name)
	}
	w.showRefused()
	if err := w.rewind(ctx, rewind{ends: w.ends, news: len(w.ends) > 0}); err != nil {
		return true, err
	}
	w.log.Info("refused streams resolved", "streams", len(back), "still_refused", len(w.refused.streams))
	return true, w.saveMarks(ctx)
}

// showRefused lets others see which streams are refused.
func (w *writer) showRefused() {
	w.m.refusedStreams(w.refused.streams)
	w.link.setRefused(w.refused.streams)
}

// setRefused passes on which streams are refused.
func (l *link) setRefused(refused map[string]refusal) {
	errs := make(map[string]error, len(refused))
	for name, r := range refused {
		errs[name] = r.err
	}
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

// takeCommitted takes in what was published, and which streams are refused. A
// stream is refused after its last commit was published, so what is published
// counts first: a refused stream is read again from there.
func (r *reader) takeCommitted() {
	refused, news := r.link.takeRefused()
	r.link.takePublished(r.src.Committed)
	if news {
		r.src.Refuse(refused)
	}
}

// refusals copies why streams are refused, by name.
func (l *link) refusals() map[string]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.refused)
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
