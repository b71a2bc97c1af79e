package sink

import "github.com/prometheus/client_golang/prometheus"

// metrics are the metrics of all sinks. The label is the name of a sink.
type metrics struct {
	lines, bytes, segments        *prometheus.CounterVec
	errors                        *prometheus.CounterVec
	rejectedLines, rejectedBytes  *prometheus.CounterVec
	skippedSegments, skippedBytes *prometheus.CounterVec
	cursorsLost                   *prometheus.CounterVec
}

// sinkMetrics are the metrics of one sink.
type sinkMetrics struct {
	lines, bytes, segments        prometheus.Counter
	errors                        *prometheus.CounterVec // by kind
	rejectedLines, rejectedBytes  prometheus.Counter
	skippedSegments, skippedBytes prometheus.Counter
	cursorsLost                   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"sink"}, labels...))
		reg.MustRegister(v)
		return v
	}
	return &metrics{
		lines:           vec("ullage_sink_lines_total", "Lines that a sink of lines has acknowledged."),
		bytes:           vec("ullage_sink_bytes_total", "Bytes that a sink has acknowledged: of lines, or of segments as they are on disk."),
		segments:        vec("ullage_sink_segments_total", "Segments that a sink of whole segments has acknowledged."),
		errors:          vec("ullage_sink_errors_total", "Deliveries that failed, by kind: busy, rejected, timeout, unavailable. All but the rejected are repeated; `ullage status` has the last reason.", "kind"),
		rejectedLines:   vec("ullage_sink_rejected_lines_total", "Lines that a sink refused permanently because of their content, and that were set aside."),
		rejectedBytes:   vec("ullage_sink_rejected_bytes_total", "Bytes that a sink refused permanently because of their content: of lines, or of segments as they are on disk."),
		skippedSegments: vec("ullage_sink_skipped_segments_total", "Segments that retention deleted before a sink had received all of them: the sink lacks their lines."),
		skippedBytes:    vec("ullage_sink_skipped_bytes_total", "Bytes of the segments that a sink lacks, as they were on disk."),
		cursorsLost:     vec("ullage_sink_cursors_lost_total", "Cursors that were malformed, so that a sink began again with the oldest segment."),
	}
}

// of returns the metrics of one sink. Each begins at zero, so that its first increase is visible.
func (m *metrics) of(name string) sinkMetrics {
	s := sinkMetrics{
		lines: m.lines.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name), segments: m.segments.WithLabelValues(name),
		errors:        m.errors.MustCurryWith(prometheus.Labels{"sink": name}),
		rejectedLines: m.rejectedLines.WithLabelValues(name), rejectedBytes: m.rejectedBytes.WithLabelValues(name),
		skippedSegments: m.skippedSegments.WithLabelValues(name), skippedBytes: m.skippedBytes.WithLabelValues(name),
		cursorsLost: m.cursorsLost.WithLabelValues(name),
	}
	for _, kind := range errorKinds {
		s.errors.WithLabelValues(kind)
	}
	return s
}

// gauges is a [prometheus.Collector] of values that are read during a scrape.
type gauges struct {
	set          *Set
	lag, backlog *prometheus.Desc
}

func newGauges(s *Set) *gauges {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, []string{"sink"}, nil) }
	return &gauges{set: s,
		lag:     desc("ullage_sink_lag_seconds", "Age of the oldest line that is durable and that a sink has not acknowledged; 0 if it has all."),
		backlog: desc("ullage_sink_backlog_bytes", "Bytes of segments, on disk, that a sink has not acknowledged."),
	}
}

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(to chan<- *prometheus.Desc) { to <- g.lag; to <- g.backlog }

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	for _, s := range g.set.Status() {
		to <- prometheus.MustNewConstMetric(g.lag, prometheus.GaugeValue, s.LagSeconds, s.Name)
		to <- prometheus.MustNewConstMetric(g.backlog, prometheus.GaugeValue, float64(s.BacklogBytes), s.Name)
	}
}
