// Package chart tests the Helm chart in charts/ullage as helm renders it: what it makes of a handful of value files,
// which values it refuses, what it is allowed to do in a cluster, and that the Kubernetes API knows its objects. Its
// alerts are tested with series in Prometheus's promtool. It needs helm, but no cluster.
package chart
