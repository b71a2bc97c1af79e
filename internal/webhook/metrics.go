package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What became of a review.
const (
	injected  = "injected"
	unchanged = "unchanged" // a pod that is to stay as it is
	skipped   = "skipped"   // not a pod's creation
	denied    = "denied"
	failed    = "error"
)

type metrics struct {
	reviews  *prometheus.CounterVec
	duration prometheus.Histogram
	panics   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_injector_reviews_total", Help: "Admission reviews by result: injected, unchanged, skipped (not a pod's creation), denied, error."}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ullage_injector_review_duration_seconds", Help: "Time from a review's header to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10}}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_injector_panics_total", Help: "Reviews that hit a bug; the errors include them."}),
	}
	// A counter that exists from the start shows its first step.
	for _, result := range []string{injected, unchanged, skipped, denied, failed} {
		m.reviews.WithLabelValues(result)
	}
	reg.MustRegister(m.reviews, m.duration, m.panics)
	return m
}

func (m metrics) observe(result string, took time.Duration) {
	m.reviews.WithLabelValues(result).Inc()
	m.duration.Observe(took.Seconds())
}
