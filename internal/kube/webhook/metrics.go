package webhook

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The results of a review.
const (
	injected  = "injected"
	unchanged = "unchanged" // the pod stays as it is
	refused   = "refused"   // the pod should have a sidecar and starts without one
	skipped   = "skipped"   // not a pod's creation
	denied    = "denied"
	failed    = "error"
)

type metrics struct {
	reviews  *prometheus.CounterVec
	refusals *prometheus.CounterVec
	duration prometheus.Histogram
	panics   prometheus.Counter
}

// newMetrics registers the metrics. reasons are the label values of refusals.
func newMetrics(reg prometheus.Registerer, reasons []string) metrics {
	m := metrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_injector_reviews_total", Help: "Admission reviews by result: injected, unchanged, refused (the pod starts without a sidecar), skipped (not the creation of a pod), denied, error."}, []string{"result"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_injector_refusals_total", Help: "Pods that could not be injected, by reason: " + strings.Join(reasons, ", ") + ". They started without a sidecar, or were denied."}, []string{"reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ullage_injector_review_duration_seconds", Help: "Time from a review's header to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10}}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_injector_panics_total", Help: "Reviews that hit a bug; the log has the stack. They are included in the result error."}),
	}
	// Only a counter that exists from the start shows its first increment.
	for _, result := range []string{injected, unchanged, refused, skipped, denied, failed} {
		m.reviews.WithLabelValues(result)
	}
	for _, reason := range reasons {
		m.refusals.WithLabelValues(reason)
	}
	reg.MustRegister(m.reviews, m.refusals, m.duration, m.panics)
	return m
}

func (m metrics) refuse(reason string) { m.refusals.WithLabelValues(reason).Inc() }

func (m metrics) observe(result string, took time.Duration) {
	m.reviews.WithLabelValues(result).Inc()
	m.duration.Observe(took.Seconds())
}
