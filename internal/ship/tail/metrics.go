package tail

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

type metrics struct {
	readLines   *prometheus.CounterVec
	readBytes   *prometheus.CounterVec
	jvmDropped  *prometheus.CounterVec
	jvmCut      *prometheus.CounterVec
	jvmLost     *prometheus.CounterVec
	crashes     prometheus.Counter
	dropped     *dropCounts
	files       prometheus.Gauge
	ignored     *prometheus.GaugeVec
	truncations prometheus.Counter
	missedFiles prometheus.Counter
	holeBytes   prometheus.Counter
	readErrors  prometheus.Counter
	watching    prometheus.Gauge
	watchErrors prometheus.Counter
	reclaimed   *prometheus.CounterVec
	reclaimErrs prometheus.Counter
	strangers   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		reg.MustRegister(g)
		return g
	}
	ignored := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ullage_source_ignored_files", Help: "Entries of the source that match but are not followed, by reason."}, []string{"reason"})
	reg.MustRegister(ignored)
	return metrics{
		readLines:   counters("ullage_read_lines_total", "Complete lines read from the source, by the line's level.", "stream", "level"),
		readBytes:   counters("ullage_read_bytes_total", "Bytes read from the source.", "stream"),
		jvmDropped:  counters("ullage_jvm_dropped_lines_total", "Lines that the JVM dropped itself and reported (-Xlog:async).", "stream"),
		jvmCut:      counters("ullage_jvm_cut_lines_total", "Lines that the JVM could not complete on a full tmpfs; whole lines may have been lost at the same place.", "stream"),
		jvmLost:     counters("ullage_jvm_cut_seconds_total", "Time for which a JVM's log has no lines, after lines that it could not complete on a full tmpfs.", "stream"),
		crashes:     counter("ullage_jvm_crashes_total", "Crashes of JVMs, counted by their reports (hs_err files) in the source; each is counted once part of it is durable."),
		dropped:     newDropCounts(reg),
		files:       gauge("ullage_source_files", "Source files held open."),
		ignored:     ignored,
		truncations: counter("ullage_source_truncations_total", "Source files that were truncated in place; lines that were neither read nor moved are lost. Set filecount=1,filesize=0 in -Xlog."),
		missedFiles: counter("ullage_source_missed_files_total", "Archives that the JVM overwrote before ullage opened them, counted by the gaps in their numbers. Set filecount=1,filesize=0 in -Xlog."),
		holeBytes:   counter("ullage_source_hole_bytes_total", "Bytes of holes in source files, which no process wrote; ullage skips them."),
		readErrors:  counter("ullage_source_read_errors_total", "Failed reads and scans of the source. The log has the reason."),
		watching:    gauge("ullage_source_watching", "1 if the directory can be watched for events, 0 if the source is only polled."),
		watchErrors: counter("ullage_source_watch_errors_total", "Errors of the directory watch, including overflows of the event queue. The source is also polled, so no line is lost."),
		reclaimed:   counters("ullage_reclaimed_bytes_total", "Bytes of the source freed, by method.", "method"),
		strangers:   gauge("ullage_jvm_user_differs", "1 while a source file belongs to a user other than the sidecar's: its memory cannot be freed while the JVM writes it, and log levels cannot be changed. `ullage status` says what to set."),
		reclaimErrs: counter("ullage_reclaim_errors_total", "Failed attempts to free memory of the source. The log has the reason."),
	}
}

// appear creates the series of a stream with the value zero. Otherwise, rate and increase would
// miss the first step of a counter.
func (m *metrics) appear(label string) {
	m.readBytes.WithLabelValues(label)
	m.jvmDropped.WithLabelValues(label)
	m.jvmCut.WithLabelValues(label)
	m.jvmLost.WithLabelValues(label)
	m.dropped.appear(label)
}

// Show adds to a status how much of the listed streams was read, and the lines that the sidecar
// and the JVMs dropped. It may be called from any goroutine.
func (s *Source) Show(st *admin.Status) {
	m := &s.env.metrics
	// Marks are not lines of a JVM, so they are not counted as read.
	logs := func(c prometheus.Collector) admin.Samples { return admin.SamplesOf(c).Without("stream", mark.Stream) }
	bytes := logs(m.readBytes)
	st.Read = admin.Volume{Lines: logs(m.readLines).Sum(), Bytes: bytes.Sum()}
	st.JVMLost = admin.JVMLost{Async: logs(m.jvmDropped).Sum(), Cut: logs(m.jvmCut).Sum()}
	st.JVMCrashes = admin.SamplesOf(m.crashes).Sum()
	read, dropped := bytes.By("stream"), m.dropped.show(st)
	for i := range st.Streams {
		one := &st.Streams[i]
		one.ReadBytes, one.DroppedLines = read[one.Name], dropped[one.Name]
	}
}

// volume is an amount of read lines.
type volume struct {
	lines   [ul.NumLevels]uint32
	bytes   int
	dropped uint64 // lines that the JVM itself dropped, according to its own report
}

// countRead counts lines of a stream that are read for the first time.
func (m *metrics) countRead(label string, v volume) {
	for level, n := range v.lines {
		if n > 0 {
			m.readLines.WithLabelValues(label, ul.Level(level).String()).Add(float64(n))
		}
	}
	m.readBytes.WithLabelValues(label).Add(float64(v.bytes))
	if v.dropped > 0 {
		m.jvmDropped.WithLabelValues(label).Add(float64(v.dropped))
	}
}

// countCuts counts lines of a stream that the JVM could not complete, and the time until it
// wrote the next lines.
func (m *metrics) countCuts(label string, cuts int, lost time.Duration) {
	m.jvmCut.WithLabelValues(label).Add(float64(cuts))
	m.jvmLost.WithLabelValues(label).Add(lost.Seconds())
}
