package levels

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/plan"
)

type metrics struct {
	raised     prometheus.Gauge
	adopted    prometheus.Gauge
	raises     *prometheus.CounterVec
	restores   prometheus.Counter
	errors     *prometheus.CounterVec
	attach     *prometheus.CounterVec
	reconciled prometheus.Gauge
	problems   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		raised: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ullage_level_raised_jvms", Help: "JVMs whose log level is raised now."}),
		adopted: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ullage_adopted_jvms", Help: "JVMs that currently have an output from --adopt."}),
		raises: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_level_raises_total", Help: "Raises that took effect in JVMs, by cause: annotation, command, or the condition of a trigger."}, []string{"reason"}),
		restores: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ullage_level_restores_total", Help: "Verified restores of a JVM's own log configuration."}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_level_errors_total", Help: "Failed attempts to raise, restore, adopt or release a JVM, by operation. They are repeated; `ullage status` has the reason."}, []string{"operation"}),
		attach: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_attach_errors_total", Help: "Failed attempts to reach a JVM or to run a command in it, by kind; docs/levels.md says what to do about each."}, []string{"kind"}),
		reconciled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ullage_level_last_reconcile_timestamp_seconds", Help: "Latest Unix time at which all JVMs that were found had the requested log levels."}),
		problems: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ullage_annotation_problems", Help: "Invalid annotations; /status lists them with the reason."}),
	}
	// Without a zero at the start, Prometheus would miss the first increment of a counter.
	for _, r := range plan.Reasons() {
		m.raises.WithLabelValues(r)
	}
	for _, op := range []string{opRaise, opRestore, opAdopt, opRelease} {
		m.errors.WithLabelValues(op)
	}
	for _, k := range attach.Kinds() {
		m.attach.WithLabelValues(string(k))
	}
	reg.MustRegister(m.raised, m.adopted, m.raises, m.restores, m.errors, m.attach, m.reconciled, m.problems)
	return m
}

// The operations that can fail.
const (
	opRaise   = "raise"
	opRestore = "restore"
	opAdopt   = "adopt"
	opRelease = "release"
)

func (m metrics) setReconciled(now time.Time) { m.reconciled.Set(float64(now.UnixMilli()) / 1000) }
