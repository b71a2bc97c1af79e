// Package chart tests the Helm chart in charts/ullage as helm renders it: what
// it makes of a handful of value files, what values it refuses, what it is
// allowed to do in a cluster, and that its objects are what the Kubernetes API
// knows. Its alerts run on series in Prometheus's promtool. It needs helm and no
// cluster.
package chart
