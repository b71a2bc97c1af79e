package sum

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// leastRate is the shortest time for which there is a rate.
const leastRate = 100 * time.Millisecond

// rate is a number of bytes and the time in which they were counted. The zero value has
// none.
type rate struct {
	sum    int64
	first  pause.Clock
	last   pause.Clock
	counts int
}

// add adds the bytes that were counted since the previous time.
func (r *rate) add(at pause.Clock, bytes int64) {
	if bytes < 0 || !at.Known() {
		return
	}
	if r.counts++; r.counts == 1 {
		r.first = at // the bytes before this time were counted over an unknown time
		return
	}
	r.sum += bytes
	if r.counts == 2 || r.seconds(at) > r.seconds(r.last) { // a concurrent collection may end before another that is reported first
		r.last = at
	}
}

// seconds returns the time from the first time to at.
func (r *rate) seconds(at pause.Clock) float64 {
	if r.first.HasUptime && at.HasUptime {
		return (at.Uptime - r.first.Uptime).Seconds()
	}
	return at.Wall.Sub(r.first.Wall).Seconds()
}

func (r *rate) perSecond() *float64 {
	if r.counts < 2 {
		return nil
	}
	d := r.seconds(r.last)
	if d < leastRate.Seconds() {
		return nil
	}
	v := float64(r.sum) / d
	return &v
}

// worst finds the minute with the longest total of stops, in steps of one second.
type worst struct {
	seconds [60]time.Duration // of the last minute, by second modulo 60
	at      int64             // the last second
	sum     time.Duration
	most    time.Duration
	begin   int64
	any     bool
}

// add adds a stop that began at the position at, in ns.
func (w *worst) add(at int64, d time.Duration) {
	for left := d; left > 0; {
		second := at / 1e9
		part := min(left, time.Duration((second+1)*1e9-at))
		if part <= 0 || left-part > time.Hour {
			return // a JVM never stops for an hour
		}
		w.put(second, part)
		left -= part
		at += int64(part)
	}
}

func (w *worst) put(second int64, d time.Duration) {
	if !w.any || second > w.at+60 {
		w.seconds, w.sum = [60]time.Duration{}, 0
		w.at, w.any = second, true
	}
	if second <= w.at-60 {
		return // the clock was set back
	}
	for w.at < second {
		w.at++
		i := ((w.at % 60) + 60) % 60
		w.sum -= w.seconds[i]
		w.seconds[i] = 0
	}
	w.seconds[((second%60)+60)%60] += d
	if w.sum += d; w.sum > w.most {
		w.most, w.begin = w.sum, w.at-59
	}
}

func (w *worst) minute(stepped bool) *view.Minute {
	if !w.any || stepped {
		return nil
	}
	return &view.Minute{Begin: float64(w.begin), Paused: min(60, seconds(w.most))}
}

// trend is a straight line fitted by least squares through the sizes of the heap after
// collections.
type trend struct {
	n, t, v, tt, tv, vv float64
	first               int64
	end                 float64
}

// add adds a size in bytes at a position in ns.
func (r *trend) add(at, bytes int64) {
	if r.n == 0 {
		r.first = at
	}
	t, v := float64(at-r.first)/3.6e12, float64(bytes)
	r.n, r.t, r.v, r.tt, r.tv, r.vv = r.n+1, r.t+t, r.v+v, r.tt+t*t, r.tv+t*v, r.vv+v*v
	r.end = t
}

// perHour returns the slope of the line. It returns nil unless there are enough sizes over
// enough time and the line explains at least half of their variance.
func (r *trend) perHour() *float64 {
	if r.n < 20 || r.end < 1.0/60 {
		return nil
	}
	covariance := r.n*r.tv - r.t*r.v
	ofTime, ofValue := r.n*r.tt-r.t*r.t, r.n*r.vv-r.v*r.v
	if ofTime <= 0 || ofValue <= 0 || covariance*covariance < 0.5*ofTime*ofValue {
		return nil
	}
	slope := covariance / ofTime
	return &slope
}
