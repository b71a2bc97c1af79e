package ring

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// metrics are the metrics of a source with rings. They have no values before there is a ring, since most pods have
// none.
type metrics struct {
	events  *prometheus.CounterVec
	cut     *prometheus.CounterVec
	dropped *prometheus.CounterVec
	errors  *prometheus.CounterVec
	rings   *prometheus.GaugeVec
	bytes   *prometheus.GaugeVec
	begun   bool
	cuts    cuts // reports the cut records in marks, too
}

func newMetrics(reg prometheus.Registerer, note func(mark.Mark)) *metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, nil)
		reg.MustRegister(g)
		return g
	}
	return &metrics{
		cuts:   cuts{mark: note, of: map[name]*cut{}},
		events: counters("ullage_events_total", "Events read from rings.", "level"),
		cut: counters("ullage_events_cut_total",
			"Events that were cut because they exceeded the maximum record size. A line after each cut event reports the cut.", "level"),
		dropped: counters("ullage_events_dropped_total",
			"Events dropped because a ring had no room, as reported by markers in the log: only below the keep level (discard), or of any level (drop).", "level", "reason"),
		errors: counters("ullage_event_ring_errors_total", "Rings that could not be read completely or at all, and unreadable records in rings, by reason.", "reason"),
		rings:  gauge("ullage_event_rings", "Rings that are read."),
		bytes:  gauge("ullage_event_ring_bytes", "Memory of the rings that are read; it is charged to the JVM."),
	}
}

// begin gives every metric a value. Otherwise, rate and increase would miss the first step of a
// counter.
func (m *metrics) begin() {
	if m.begun {
		return
	}
	m.begun = true
	for level := ul.Trace; level <= ul.Error; level++ {
		m.events.WithLabelValues(level.String())
		m.cut.WithLabelValues(level.String())
		for reason := range ul.Reason(ul.NumReasons) {
			m.dropped.WithLabelValues(level.String(), reason.String())
		}
	}
	for _, reason := range reasons {
		m.errors.WithLabelValues(reason)
	}
}

// count counts the events of a ring's step that has been saved in the journal.
func (m *metrics) count(n name, t *tally, e *entry) {
	for level, n := range t.events {
		if n > 0 {
			m.events.WithLabelValues(ul.Level(level).String()).Add(float64(n))
		}
	}
	for level, records := range t.cut {
		if records > 0 {
			m.cut.WithLabelValues(ul.Level(level).String()).Add(float64(records))
			m.cuts.add(n, records)
		}
	}
	for reason, lines := range e.gap.Lines {
		for level, n := range lines {
			if n > 0 {
				m.dropped.WithLabelValues(ul.Level(level).String(), ul.Reason(reason).String()).Add(float64(n))
			}
		}
	}
	if t.claims > 0 {
		m.errors.WithLabelValues(reasonClaim).Add(float64(t.claims))
	}
	if t.words > 0 {
		m.errors.WithLabelValues(reasonWord).Add(float64(t.words))
	}
}
