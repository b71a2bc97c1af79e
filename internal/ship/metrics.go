package ship

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

type metrics struct {
	persistedLines    *prometheus.CounterVec
	persistedBytes    *prometheus.CounterVec
	withheldLines     *prometheus.CounterVec
	withheldBytes     *prometheus.CounterVec
	savedLines        *prometheus.CounterVec
	unheld            prometheus.Counter
	commits           prometheus.Histogram
	destinationErrors *prometheus.CounterVec
	checkpointErrors  prometheus.Counter
	checkpointInvalid *prometheus.CounterVec
	refused           *prometheus.GaugeVec
}

// newMetrics registers the metrics of the two loops. At each scrape, the gauges are read from
// the state that the loops show.
func newMetrics(reg prometheus.Registerer, l *link, v *view, ready func() error) *metrics {
	m := &metrics{
		persistedLines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_persisted_lines_total", Help: "Lines that became durable, by level."}, []string{"stream", "level"}),
		persistedBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_persisted_bytes_total", Help: "Bytes of lines that became durable, before compression."}, []string{"stream"}),
		withheldLines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_hindsight_withheld_lines_total", Help: "Lines below --persist-level, which are withheld from their stream, by level."}, []string{"stream", "level"}),
		withheldBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_hindsight_withheld_bytes_total", Help: "Bytes of withheld lines, before compression."}, []string{"stream"}),
		savedLines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_hindsight_saved_lines_total", Help: "Withheld lines that were saved: they became durable after all, in the stream NAME+detail, by level."}, []string{"level"}),
		unheld: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_hindsight_lost_bytes_total", Help: "Bytes of withheld lines that could not be held and cannot be saved, before compression. Enlarge the tmpfs if this grows."}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ullage_commit_duration_seconds", Help: "Duration of a commit: the segments' sync, then the checkpoint. A slow destination shows here.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}),
		destinationErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_destination_errors_total", Help: "Errors of the destination, by kind. The log has the reason and a hint; lines stay on the source until it works again."}, []string{"kind"}),
		checkpointErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_checkpoint_errors_total", Help: "Failed attempts to save the checkpoint. No memory of the source is freed until one succeeds."}),
		checkpointInvalid: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_checkpoint_invalid_total", Help: "Checkpoint slots that were ignored at a start, by reason."}, []string{"reason"}),
		refused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ullage_refused_streams", Help: "Streams that the destination refuses while it takes others, by reason: occupied, permission, name. Their lines stay on the source; `ullage status` names the streams."}, []string{"reason"}),
	}
	reg.MustRegister(m.withheldLines, m.withheldBytes, m.savedLines, m.unheld)
	reg.MustRegister(m.persistedLines, m.persistedBytes, m.commits, m.destinationErrors, m.checkpointErrors, m.checkpointInvalid, m.refused)
	m.refusedStreams(nil)
	// The first step of a counter is visible only if the counter existed before it.
	for _, k := range errorKinds {
		m.destinationErrors.WithLabelValues(k.label)
	}
	m.destinationErrors.WithLabelValues(otherError)
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	viewed := func(value func() int64) func() float64 {
		return func() float64 {
			v.mu.Lock()
			defer v.mu.Unlock()
			return float64(value())
		}
	}
	gauge("ullage_backlog_bytes", "Bytes written by JVMs and not yet durable.", viewed(func() int64 { return v.usage.Backlog }))
	gauge("ullage_spooled_bytes", "Bytes of lines in the spool, before compression.", viewed(func() int64 { return v.usage.Spooled }))
	gauge("ullage_source_free_bytes", "Free bytes of the source's file system. JVMs lose lines at 0; see ullage_budget_used_bytes for what the backlog uses.", viewed(func() int64 { return v.usage.Headroom }))
	gauge("ullage_budget_bytes", "Bytes of the source's file system that the backlog may use.", viewed(func() int64 { return v.budget }))
	gauge("ullage_budget_used_bytes", "Bytes of the budget in use: memory of the source files and of the spool. How much of the budget is in use decides when lines are compressed and dropped.", viewed(func() int64 { return v.used }))
	gauge("ullage_queue_bytes", "Bytes in the queue between reader and writer.", func() float64 { return float64(l.queue.Bytes()) })
	gauge("ullage_queue_capacity_bytes", "Size of the queue between reader and writer.", func() float64 { return float64(l.queue.Capacity()) })
	gauge("ullage_lag_seconds", "Age of the oldest line that was read and is not yet durable. It grows while the destination is slow.", func() float64 { return l.lag(time.Now()).Seconds() })
	gauge("ullage_destination_last_error_timestamp_seconds", "Unix time at which the destination last failed, or the checkpoint could not be saved; 0 for never.", l.health.lastErrorSeconds)
	gauge("ullage_ready", "1 while lines become durable, 0 while they do not; /readyz has the reason.", func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
	return m
}

// refusedStreams sets how many streams are refused, and why.
func (m *metrics) refusedStreams(refused map[string]error) {
	counts := map[string]int{}
	for _, err := range refused {
		counts[refusedReasons.of(err)]++
	}
	for _, k := range refusedReasons {
		m.refused.WithLabelValues(k.label).Set(float64(counts[k.label]))
	}
}

// show adds to a status how much of the listed streams became durable and how much was
// withheld.
func (m *metrics) show(st *admin.Status) {
	logs := func(c prometheus.Collector) admin.Samples { return admin.SamplesOf(c).Without("stream", mark.Stream) }
	lines, bytes := logs(m.persistedLines), logs(m.persistedBytes)
	st.Persisted = admin.Volume{Lines: lines.Sum(), Bytes: bytes.Sum()}
	st.Withheld = admin.Volume{Lines: logs(m.withheldLines).Sum(), Bytes: logs(m.withheldBytes).Sum()}
	st.Saved, st.ByLevel = admin.SamplesOf(m.savedLines).Sum(), lines.By("level")
	linesBy, bytesBy := lines.By("stream"), bytes.By("stream")
	for i := range st.Streams {
		one := &st.Streams[i]
		one.PersistedLines, one.PersistedBytes = linesBy[one.Name], bytesBy[one.Name]
	}
}

// count adds lines to a metric whose last label is the level.
func count(to *prometheus.CounterVec, lines [ul.NumLevels]uint64) {
	for level, n := range lines {
		if n > 0 {
			to.WithLabelValues(ul.Level(level).String()).Add(float64(n))
		}
	}
}
