// Package census tracks the JVMs that write to the source. It marks their starts and ends, and
// finds log files that they write elsewhere. A [Census] asks each JVM once and changes nothing.
//
// A search examines every process of the pod, so it takes place only when something suggests that
// there may be a new JVM, and once a minute. The end of a known JVM is noticed without a search.
package census
