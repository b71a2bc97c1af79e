package insight

import "time"

// window is the time over which the overhead is measured.
const window = 60 // seconds

// overhead holds how much time pauses took in each of the last seconds. Pauses are dated by the times
// in the lines. The zero value has no pauses.
type overhead struct {
	paused [window]time.Duration
	second int64 // the newest second, in Unix time
}

// add adds a pause that ended at the given time. The pause is divided among the seconds that it
// covered.
func (o *overhead) add(end time.Time, d time.Duration) {
	o.advance(end.Unix())
	d = min(d, window*time.Second)
	for at := end; d > 0; {
		second := at.Unix()
		part := min(d, at.Sub(time.Unix(second, 0)))
		if part <= 0 {
			at = at.Add(-1)
			continue
		}
		if second <= o.second && second > o.second-window && second >= 0 {
			i := second % window
			o.paused[i] = min(o.paused[i]+part, time.Second)
		}
		d -= part
		at = at.Add(-part)
	}
}

// advance makes second the newest second and forgets the seconds that are then too old.
func (o *overhead) advance(second int64) {
	if second < 0 || second <= o.second {
		return
	}
	if second-o.second >= window {
		o.paused, o.second = [window]time.Duration{}, second
		return
	}
	for o.second < second {
		o.second++
		o.paused[o.second%window] = 0
	}
}

// ratio returns the fraction of the last minute that the pauses took, from 0 to 1.
func (o *overhead) ratio(now time.Time) float64 {
	o.advance(now.Unix())
	var sum time.Duration
	for _, d := range o.paused {
		sum += d
	}
	return sum.Seconds() / window
}
