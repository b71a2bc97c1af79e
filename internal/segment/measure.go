package segment

import "golang.org/x/sys/unix"

// measure updates the gauges. It asks the file system how much is free, which
// needs no disk where that is local.
func (s *Store) measure() {
	count, size, used := s.ledger.count, s.ledger.size, s.used()
	s.held(func(info Info) { count++; size += info.Size })
	s.metrics.segments.Set(float64(count))
	s.metrics.bytes.Set(float64(size))
	s.metrics.disk.Set(float64(used.bytes))
	s.metrics.inodes.Set(float64(used.inodes))
	s.metrics.oldest.Set(float64(s.oldest()) / 1000)
	var st unix.Statfs_t
	if s.root != nil && retry(func() error { return unix.Fstatfs(int(s.root.Fd()), &st) }) == nil {
		s.metrics.free.Set(float64(st.Bavail) * float64(st.Frsize))
	}
}

// oldest returns when the oldest segment began, in Unix milliseconds as in its
// name; 0 where there is none.
func (s *Store) oldest() (start int64) {
	note := func(millis int64) {
		if start == 0 || millis < start {
			start = millis
		}
	}
	for _, e := range s.ledger.oldest {
		note(e.start)
	}
	s.held(func(info Info) { note(info.Start.UnixMilli()) })
	return start
}
