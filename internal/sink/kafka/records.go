package kafka

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/sink"
)

// ahead is how far in the future the time of a record may be. Brokers refuse later times, and
// a line can hold any date.
const ahead = time.Minute

// levelNames are the values of the header level.
var levelNames = func() (names [ul.NumLevels][]byte) {
	for l := range names {
		names[l] = []byte(ul.Level(l).String())
	}
	return names
}()

// records turns lines into records, in memory that it reuses.
type records struct {
	prefix   string // the part of the key before the stream
	sendTime bool   // the time of a record is the time at which it is sent

	all     []kgo.Record
	headers []kgo.RecordHeader
	text    []byte // keys, uids, numbers
}

// of returns the records of the lines b.Lines[from:to] for which keep returns true. They are
// valid until the next call, but not longer than b.
func (r *records) of(b *sink.Batch, from, to int, keep func(*sink.Line) bool, now time.Time) []kgo.Record {
	r.all, r.headers, r.text = r.all[:0], r.headers[:0], r.text[:0]
	key := r.keep(func(t []byte) []byte { return append(append(t, r.prefix...), b.Stream...) })
	stream := key[len(r.prefix):]
	for i := from; i < to; i++ {
		l := &b.Lines[i]
		if !keep(l) {
			continue
		}
		first := len(r.headers)
		uid := r.keep(func(t []byte) []byte { return b.AppendUID(t, l) })
		r.headers = append(r.headers, kgo.RecordHeader{Key: "level", Value: levelNames[l.Level]},
			kgo.RecordHeader{Key: "stream", Value: stream}, kgo.RecordHeader{Key: "uid", Value: uid})
		if l.Kind == ul.Header && l.Level == ul.Warning {
			r.gap(l.Text)
		}
		r.all = append(r.all, kgo.Record{Key: key, Value: l.Text, Headers: r.headers[first:len(r.headers):len(r.headers)], Timestamp: r.stamp(l, now)})
	}
	return r.all
}

// keep appends to text and returns the appended part.
func (r *records) keep(add func([]byte) []byte) []byte {
	begin := len(r.text)
	r.text = add(r.text)
	return r.text[begin:len(r.text):len(r.text)]
}

func (r *records) stamp(l *sink.Line, now time.Time) time.Time {
	if r.sendTime || l.Time.IsZero() || l.Time.After(now.Add(ahead)) {
		return now
	}
	return l.Time
}

// gap adds the headers of a gap marker, if the line is one: its lines, their bytes, and
// the lines by reason and level.
func (r *records) gap(line []byte) {
	g, is := ul.ParseMarker(line)
	if !is {
		return
	}
	number := func(key string, n uint64) {
		r.headers = append(r.headers, kgo.RecordHeader{Key: key, Value: r.keep(func(t []byte) []byte { return strconv.AppendUint(t, n, 10) })})
	}
	number("gap.lines", g.Total())
	number("gap.bytes", g.Bytes)
	for reason, levels := range g.Lines {
		for level, n := range levels {
			if n > 0 {
				number("gap."+ul.Reason(reason).String()+"."+ul.Level(level).String(), n)
			}
		}
	}
}
