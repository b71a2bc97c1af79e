package sidecar

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// samples are the values of counters and gauges, by metric name.
type samples map[string][]sample

// sample is one value.
type sample struct {
	labels map[string]string
	value  float64
}

// gather takes the values from the metrics, so that /status and they cannot disagree.
func gather(reg prometheus.Gatherer) samples {
	s := samples{}
	families, _ := reg.Gather() // what could not be gathered is not shown
	for _, family := range families {
		for _, m := range family.GetMetric() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() // it is one of them
			one := sample{value: value, labels: make(map[string]string, len(m.GetLabel()))}
			for _, l := range m.GetLabel() {
				one.labels[l.GetName()] = l.GetValue()
			}
			s[family.GetName()] = append(s[family.GetName()], one)
		}
	}
	return s
}

// sum returns the sum of a metric over all labels; 0 if it does not exist.
func (s samples) sum(metric string) (total int64) {
	for _, one := range s[metric] {
		total += int64(one.value)
	}
	return total
}

// by returns the sums of a metric for each value of a label, other than zeros.
func (s samples) by(metric, label string) map[string]int64 {
	sums := map[string]int64{}
	for _, one := range s[metric] {
		if value := one.labels[label]; one.value > 0 {
			sums[value] += int64(one.value)
		}
	}
	return sums
}

// without returns the samples that do not have a value of a label.
func (s samples) without(label, value string) samples {
	left := samples{}
	for metric, all := range s {
		left[metric] = slices.DeleteFunc(slices.Clone(all), func(one sample) bool { return one.labels[label] == value })
	}
	return left
}

// with returns the samples of a metric that have a value of a label, as samples of
// nothing else.
func (s samples) with(metric, label, value string) samples {
	of := samples{}
	for _, one := range s[metric] {
		if one.labels[label] == value {
			of[metric] = append(of[metric], one)
		}
	}
	return of
}
