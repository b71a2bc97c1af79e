package admin

import "github.com/prometheus/client_golang/prometheus"

// Samples are the values of a counter or a gauge. A [Status] takes its counts from them, so that
// the status and the metrics cannot disagree.
type Samples []sample

type sample struct {
	labels map[string]string
	value  float64
}

// SamplesOf returns the values of a counter, of a gauge, or of a vector of either.
func SamplesOf(metric prometheus.Collector) (all Samples) {
	reg := prometheus.NewRegistry()
	if reg.Register(metric) != nil {
		return nil
	}
	families, _ := reg.Gather() // values that cannot be gathered are not shown
	for _, family := range families {
		for _, m := range family.GetMetric() {
			one := sample{value: m.GetCounter().GetValue() + m.GetGauge().GetValue(), labels: make(map[string]string, len(m.GetLabel()))} // the metric is one or the other
			for _, l := range m.GetLabel() {
				one.labels[l.GetName()] = l.GetValue()
			}
			all = append(all, one)
		}
	}
	return all
}

// Sum returns the sum of all values.
func (s Samples) Sum() (total int64) {
	for _, one := range s {
		total += int64(one.value)
	}
	return total
}

// By returns the sum for each value of a label. It leaves out sums of zero.
func (s Samples) By(label string) map[string]int64 {
	sums := map[string]int64{}
	for _, one := range s {
		if one.value > 0 {
			sums[one.labels[label]] += int64(one.value)
		}
	}
	return sums
}

// Without returns the samples whose label does not have the given value.
func (s Samples) Without(label, value string) (left Samples) {
	for _, one := range s {
		if one.labels[label] != value {
			left = append(left, one)
		}
	}
	return left
}
