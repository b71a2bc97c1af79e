package tail

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/spool"
)

// dropCounts counts dropped lines and their bytes. Each stream has 14 such series once it has a
// line, and most of them stay at zero. In a vector of counters, they would take 10 KB a stream;
// with 256 streams, that is more than all other data about the streams. So the numbers are kept
// in arrays, and the series are created at each scrape.
type dropCounts struct {
	lines, bytes *prometheus.Desc

	mu      sync.Mutex
	streams map[string]dropCount // by label
}

// dropCount counts the dropped lines and bytes of one stream.
type dropCount struct {
	lines [ul.NumReasons][ul.NumLevels]uint64
	bytes [ul.NumReasons]uint64
}

func newDropCounts(reg prometheus.Registerer) *dropCounts {
	d := &dropCounts{
		lines: prometheus.NewDesc("ullage_dropped_lines_total", "Lines dropped to keep headroom, by level and by reason: discard (below --keep-level), drop (whatever the level).",
			[]string{"stream", "level", "reason"}, nil),
		bytes:   prometheus.NewDesc("ullage_dropped_bytes_total", "Bytes of lines dropped to keep headroom, by reason.", []string{"stream", "reason"}, nil),
		streams: map[string]dropCount{},
	}
	reg.MustRegister(d)
	return d
}

// appear creates the series of a stream if there are none yet.
func (d *dropCounts) appear(label string) { d.add(label, 0, [ul.NumLevels]uint64{}, 0) }

// add counts lines, by level, and their bytes.
func (d *dropCounts) add(label string, reason ul.Reason, lines [ul.NumLevels]uint64, bytes uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := d.streams[label]
	for level, n := range lines {
		count.lines[reason][level] += n
	}
	count.bytes[reason] += bytes
	d.streams[label] = count
}

// addPart counts the lines of a part of a record if that part was dropped.
func (d *dropCounts) addPart(label string, r *spool.Record, p spool.Part) {
	why, gone := r.Dropped(p)
	if !gone {
		return
	}
	lines, size := r.Lines(p)
	var counts [ul.NumLevels]uint64
	for level, n := range lines {
		counts[level] = uint64(n)
	}
	d.add(label, why, counts, uint64(size))
}

// addParts counts the lines of the parts of a record that were dropped.
func (d *dropCounts) addParts(label string, r *spool.Record, parts []spool.Part) {
	for _, p := range parts {
		d.addPart(label, r, p)
	}
}

// Describe implements [prometheus.Collector].
func (d *dropCounts) Describe(descs chan<- *prometheus.Desc) { descs <- d.lines; descs <- d.bytes }

// now returns a copy of the present counts, by label. It is a copy so that the reader of the
// source never waits for a scrape.
func (d *dropCounts) now() map[string]dropCount {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.streams)
}

// show adds the counts of the JVMs' streams to a status. It returns the number of dropped
// lines by stream.
func (d *dropCounts) show(st *admin.Status) (lines map[string]int64) {
	lines, st.DroppedBy = map[string]int64{}, map[string]map[string]int64{}
	for label, count := range d.now() {
		if label == mark.Stream {
			continue
		}
		for reason := range ul.Reason(ul.NumReasons) {
			st.Dropped.Bytes += int64(count.bytes[reason])
			for level, n := range count.lines[reason] {
				if n == 0 {
					continue
				}
				if st.DroppedBy[reason.String()] == nil {
					st.DroppedBy[reason.String()] = map[string]int64{}
				}
				st.DroppedBy[reason.String()][ul.Level(level).String()] += int64(n)
				st.Dropped.Lines += int64(n)
				lines[label] += int64(n)
			}
		}
	}
	return lines
}

// Collect implements [prometheus.Collector].
func (d *dropCounts) Collect(series chan<- prometheus.Metric) {
	for label, count := range d.now() {
		for reason := range ul.Reason(ul.NumReasons) {
			for level, n := range count.lines[reason] {
				series <- prometheus.MustNewConstMetric(d.lines, prometheus.CounterValue, float64(n), label, ul.Level(level).String(), reason.String())
			}
			series <- prometheus.MustNewConstMetric(d.bytes, prometheus.CounterValue, float64(count.bytes[reason]), label, reason.String())
		}
	}
}
