package insight

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/pause"
)

// maxSeries is how many combinations of labels a histogram may have. All further combinations share
// one additional series.
const maxSeries = 100

// seconds are the classic buckets of pauses: 1 ms to 30 s.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

type metrics struct {
	pauses      family
	safepoints  family
	concurrents family
	reaching    prometheus.Histogram
	waits       prometheus.Histogram
	user, sys   prometheus.Counter
	allocated   prometheus.Counter
	promoted    prometheus.Counter
	slow        prometheus.Counter
	starts      prometheus.Counter
	stalls      *prometheus.CounterVec

	liveData     *prometheus.GaugeVec
	heapAfter    *prometheus.GaugeVec
	heapCapacity *prometheus.GaugeVec
	ratio        *prometheus.GaugeVec
}

// family is a histogram with labels, whose number of series is bounded.
type family struct {
	vec    *prometheus.HistogramVec
	labels int
	series map[[3]string]prometheus.Observer
}

// get returns the histogram for a combination of labels. Labels that the family does not have are
// empty in key.
func (f *family) get(key [3]string) prometheus.Observer {
	if o, ok := f.series[key]; ok {
		return o
	}
	if len(f.series) >= maxSeries {
		key = [3]string{pause.Other, pause.Other, pause.Other}
		if o, ok := f.series[key]; ok {
			return o
		}
	}
	o := f.vec.WithLabelValues(key[:f.labels]...)
	f.series[key] = o
	return o
}

func (m *metrics) pause(gc, action, cause string) prometheus.Observer {
	return m.pauses.get([3]string{gc, action, cause})
}

func (m *metrics) safepoint(operation string) prometheus.Observer {
	return m.safepoints.get([3]string{operation})
}

func (m *metrics) concurrent(gc, action string) prometheus.Observer {
	return m.concurrents.get([3]string{gc, action})
}

// forget removes the gauges of a stream.
func (m *metrics) forget(stream string) {
	for _, g := range []*prometheus.GaugeVec{m.liveData, m.heapAfter, m.heapCapacity, m.ratio} {
		g.DeleteLabelValues(stream)
	}
}

// options returns the options of a histogram of durations. It has classic buckets, and native
// buckets for a server that scrapes native histograms.
func options(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}
}

func newMetrics(reg prometheus.Registerer) *metrics {
	histograms := func(name, help string, labels ...string) family {
		f := family{vec: prometheus.NewHistogramVec(options(name, help), labels), labels: len(labels), series: map[[3]string]prometheus.Observer{}}
		reg.MustRegister(f.vec)
		return f
	}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(options(name, help))
		reg.MustRegister(h)
		return h
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	counter := func(name, help string) prometheus.Counter { return counters(name, help).WithLabelValues() }
	gauges := func(name, help string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"stream"})
		reg.MustRegister(g)
		return g
	}
	cpu := counters("ullage_jvm_gc_cpu_seconds_total", "CPU time of collections, where the JVM logs it (gc+cpu), by mode: user, sys.", "mode")
	m := &metrics{
		pauses:       histograms("ullage_jvm_gc_pause_duration_seconds", "Pauses of the collector, by collector, action and cause.", "gc", "action", "cause"),
		safepoints:   histograms("ullage_jvm_safepoint_duration_seconds", "Safepoints, from the request to the end, by VM operation.", "operation"),
		concurrents:  histograms("ullage_jvm_gc_concurrent_duration_seconds", "Concurrent phases and cycles of the collector; a cycle covers its phases.", "gc", "action"),
		reaching:     histogram("ullage_jvm_time_to_safepoint_seconds", "Time until all threads had come to a stop for a safepoint."),
		waits:        histogram("ullage_jvm_allocation_stall_duration_seconds", "Waits of one thread for memory (ZGC)."),
		user:         cpu.WithLabelValues("user"),
		sys:          cpu.WithLabelValues("sys"),
		allocated:    counter("ullage_jvm_gc_allocated_bytes_total", "Bytes allocated between collections, computed from the sizes of the heap, to within 1 MiB per collection; not with Shenandoah and generational ZGC."),
		promoted:     counter("ullage_jvm_gc_promoted_bytes_total", "Bytes by which the old generation grew in young collections."),
		slow:         counter("ullage_jvm_slow_pauses_total", "Stops of the application longer than the trigger's pause threshold, or 500 ms if there is none."),
		starts:       counter("ullage_jvm_starts_total", "Starts of JVMs that the logs show."),
		stalls:       counters("ullage_jvm_stalls_suspected_total", "Stops of the application that seem to have waited for something other than their work, by verdict: disk, throttled, memory, cpu, reaching, operation, unknown.", "verdict"),
		liveData:     gauges("ullage_jvm_gc_live_data_bytes", "Heap in use after the last full, mixed or whole collection."),
		heapAfter:    gauges("ullage_jvm_heap_after_gc_bytes", "Heap in use after the last collection."),
		heapCapacity: gauges("ullage_jvm_heap_capacity_bytes", "Size of the heap after the last collection."),
		ratio:        gauges("ullage_jvm_gc_overhead_ratio", "Part of the last minute for which the collector stopped the application, from 0 to 1."),
	}
	// Without a zero at the start, Prometheus would miss the first increment of a counter.
	for _, v := range verdicts {
		m.stalls.WithLabelValues(string(v))
	}
	return m
}
