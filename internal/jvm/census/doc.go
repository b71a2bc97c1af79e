// Package census knows the JVMs that write to the source: it marks their starts and ends, and
// finds log files that they write elsewhere. A [Census] asks each JVM once and changes nothing.
//
// A look examines every process of the pod. So it happens only when something suggests that
// there may be a new JVM, and once a minute; the end of a known JVM is seen without a search.
package census
