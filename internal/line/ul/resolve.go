package ul

// epochMillis separates milliseconds since the epoch (from 2001) from
// milliseconds since the start of the JVM (up to 31 years).
const epochMillis = "1000000000000ms"

// resolve assigns the fields of p to decorators. Their order is fixed: clocks,
// then hostname, pid and tid, then the level, then the tags.
func (r *Record) resolve(line []byte, p *prefix) {
	before, after := p.fields[:p.n], []field(nil)
	if p.level >= 0 {
		r.setField(LevelDecorator, &p.fields[p.level], line)
		r.Level = levelOf(r.LevelName)
		before, after = p.fields[:p.level], p.fields[p.level+1:p.n]
	}
	n := r.resolveClocks(line, before)
	r.resolveNames(line, before[n:])
	r.resolveTags(line, after)
}

// resolveClocks assigns the fields up to the last clock and returns their number. It does not
// assign a clock in a place where its decorator cannot be, because the field may be a hostname.
func (r *Record) resolveClocks(line []byte, fields []field) int {
	taken, clocks := 0, 0
	last := Decorator(0)
	for i, f := range fields {
		paired := i+1 < len(fields) && fields[i+1].shape == f.shape
		d := clockOf(f, line, last, paired)
		if d <= last {
			continue
		}
		r.setField(d, &fields[i], line)
		last, taken = d, i+1
		clocks++
	}
	r.UnknownFields += taken - clocks
	if r.Present&(Time|UTCTime) == Time && string(r.Time[len(r.Time)-5:]) == "+0000" {
		r.Ambiguous |= Time
	}
	if r.Present&(TimeNanos|UptimeNanos) == UptimeNanos {
		r.Ambiguous |= UptimeNanos
	}
	return taken
}

// clockOf returns the decorator of a clock field after the decorator last, or 0
// if the field is not a clock. paired says that the next field has the same
// shape.
func clockOf(f field, line []byte, last Decorator, paired bool) Decorator {
	switch f.shape {
	case timeShape:
		if last == Time {
			return UTCTime
		}
		return Time
	case secondsShape:
		return Uptime
	case millisShape:
		n := int(f.end - f.start)
		if last < TimeMillis && (paired || n > len(epochMillis) || n == len(epochMillis) && line[f.start] != '0') {
			return TimeMillis
		}
		return UptimeMillis
	case nanosShape:
		if last < TimeNanos && paired {
			return TimeNanos
		}
		return UptimeNanos
	}
	return 0
}

// resolveNames assigns hostname, pid and tid, and also the tags if there is no
// level before them.
func (r *Record) resolveNames(line []byte, fields []field) {
	level := r.Present&LevelDecorator != 0
	for i, f := range fields {
		first := r.Present&(Hostname|PID|TID|Tags) == 0
		switch {
		case first && isHostname(fields[i:], level):
			r.setField(Hostname, &fields[i], line)
		case f.shape == numberShape && r.Present&(PID|TID|Tags) == 0:
			r.setField(PID, &fields[i], line)
		case f.shape == numberShape && r.Present&(TID|Tags) == 0:
			r.setField(TID, &fields[i], line)
		case isTags(f) && !level && r.Present&Tags == 0:
			r.setField(Tags, &fields[i], line)
			if first && f.shape == wordShape {
				r.Ambiguous |= Tags
			}
		default:
			r.UnknownFields++
		}
	}
	if r.Present&(PID|TID) == PID {
		r.Ambiguous |= PID
	}
}

// isHostname reports whether the first of fields, which has only clocks before
// it, is most likely the hostname.
func isHostname(fields []field, level bool) bool {
	switch fields[0].shape {
	case numberShape: // only if pid and tid follow
		return len(fields) > 2 && fields[1].shape == numberShape && fields[2].shape == numberShape
	case wordShape: // in a prefix without a level, the last word is the tags
		return level || len(fields) > 1
	case emptyShape, tagsShape, strangeShape:
		return false
	}
	return true
}

func isTags(f field) bool {
	return f.shape == wordShape || f.shape == tagsShape || f.shape == emptyShape
}

// resolveTags assigns the fields after the level.
func (r *Record) resolveTags(line []byte, fields []field) {
	for i, f := range fields {
		if isTags(f) && r.Present&Tags == 0 {
			r.setField(Tags, &fields[i], line)
		} else {
			r.UnknownFields++
		}
	}
}
