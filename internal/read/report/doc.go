// Package report reads the log of JVMs and reports where their time went. Package sum adds
// up what the lines are about, and package view shows the report.
//
//	Read → stream → sum.Run → sum.Sum → view.Report
//
// [Read] finds the streams that its arguments name. A stream is the segments of one
// directory, or a set of rotated files. Each stream is cut into lines. A line is counted
// by its level and tags, dated, kept for the stops that may be listed with it, and goes to a
// [pause.Joiner], whose stops, collections and waits are summed up. Two kinds of streams are not logs: the marks of a sidecar, which become bands,
// and the reports of crashes, which become [view.Crash].
//
// # Memory
//
// Only the lines of the listed stops are kept, and the last lines of a stream, which may
// be around a suspected stop. Percentiles come from histograms whose buckets are at most
// 0.8 % wide. The timeline keeps of each span of time the longest stop of a kind and
// doubles the span when there are more than 1200. Runs, causes, tags and bands are
// bounded; those beyond a bound are counted together. So memory does not grow with the
// log.
//
// # What a report does not say
//
// A figure that the log does not carry is missing, and never guessed: a percentile that
// needs more stops than there are, a throughput where two JVMs share a file, a trend that
// explains less than half of the variance. What could not be read is among the problems,
// with how much it is.
package report
