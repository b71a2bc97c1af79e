package ship

import "time"

// refusedRetry is the time between two attempts to place refused streams.
const refusedRetry = 5 * time.Second

// refuse continues without a stream. place is called later to retry the stream.
func (w *writer) refuse(name string, err error, place func() error) {
	w.store.Stream(name).Abandon()
	w.m.destinationErrors.WithLabelValues(errorKind(err)).Inc()
	w.refused.streams[name] = refusal{err, place}
	w.showRefused()
	if w.refused.logged.Allow(time.Now()) {
		// messages.md#the-destination: See [One stream is
		// refused](troubleshooting.md#one-stream-is-refused).
		w.log.Error("destination refuses a stream",
			"stream", name, "dest", w.cfg.Dest, "retry", refusedRetry.String(), "error", err,
			"hint", "its lines stay on the source and the other streams continue; /status lists all refused streams")
	}
}

// refuseOpen does the same as refuse for a stream that was placed. The stream's uncommitted
// bytes are past its mark, where the next resume cuts them off.
func (w *writer) refuseOpen(st *writerStream, err error) {
	for f := range w.taken.last {
		if f.Stream() == st.name {
			delete(w.taken.last, f)
		}
	}
	w.taken.bytes -= st.taken
	if w.taken.streams--; w.taken.bytes == 0 {
		w.taken.oldest = time.Time{}
		w.link.oldest.Store(0)
	}
	st.forget()
	w.detail.forget(st.name)
	delete(w.streams, st.name)
	w.refuse(st.name, err, func() error { return w.resume(st) })
}

// showRefused updates the metrics and the health with the refused streams.
func (w *writer) showRefused() {
	errs := make(map[string]error, len(w.refused.streams))
	for name, r := range w.refused.streams {
		errs[name] = r.err
	}
	w.m.refusedStreams(errs)
	w.link.health.setRefused(errs)
	w.link.replies.refuse(errs)
}
