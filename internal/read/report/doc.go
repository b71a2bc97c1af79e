// Package report reads the logs of JVMs and reports where their time went. Package sum adds
// up the events of the lines, and package view shows the report.
//
//	Read → stream → sum.Run → sum.Sum → view.Report
//
// [Read] finds the streams that its arguments name. A stream consists of the segments of one directory, or of a set
// of rotated files. Each stream is cut into lines. Each line is counted by its level and tags, dated, kept for the
// stops that may be listed with it, and passed to a [pause.Joiner], whose stops, collections and waits are added up.
// Two kinds of streams are not logs: the marks of a sidecar, which become bands, and crash reports, which become
// [view.Crash].
//
// If [Config.Logs] is set, the logs themselves are not read. Instead, the report uses sums that the sidecars of the
// logs recorded in their marks, but only if these sums cover all of the logs exactly once.
//
// # Memory
//
// Only two sets of lines are kept: the lines of the listed stops, and the last lines of a stream, which may be
// around a suspected stop. Percentiles are taken from histograms whose buckets are at most 0.8 % wide. The timeline
// keeps the longest stop of each kind in each span of time. It doubles the spans when there are more than 1200. The
// numbers of runs, causes, tags and bands are bounded; beyond a bound, they are counted together. So memory does not
// grow with the log.
//
// # What a report does not say
//
// A figure that does not follow from the log is left out, never guessed: a percentile that needs more stops than
// there are, a throughput where two JVMs share a file, a trend that explains less than half of the variance. Data
// that could not be read is listed among the problems, with its amount.
package report
