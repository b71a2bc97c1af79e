package certs

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	expiry    prometheus.Gauge
	renewals  prometheus.Counter
	apiErrors *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ullage_injector_certificate_expiry_timestamp_seconds", Help: "Unix time at which the serving certificate expires; 0 while there is none."}),
		renewals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_injector_certificate_renewals_total", Help: "Serving certificates that replaced an earlier one."}),
		apiErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_injector_api_errors_total", Help: "Failed requests to the Kubernetes API, by operation. A write that lost to another replica is not counted as failed."}, []string{"operation"}),
	}
	// Without a zero at the start, Prometheus would miss the first increment of a counter.
	for _, op := range operations {
		m.apiErrors.WithLabelValues(op)
	}
	reg.MustRegister(m.expiry, m.renewals, m.apiErrors)
	return m
}
