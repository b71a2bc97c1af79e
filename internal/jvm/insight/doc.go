// Package insight turns the lines that the sidecar reads into metrics of the JVM: pauses,
// safepoints, concurrent phases, memory, and stalls that the JVM did not cause itself.
//
// The reader of the lines calls [Insight.Line] for each line and [Insight.CaughtUp] when it has
// read all of them. Both must be called from one goroutine; neither blocks. At the same time,
// [Insight.Run] samples the kernel's counters. Package pause parses and joins the lines.
//
// A [pause.Tally] adds up what each stream shows. About every ten minutes, the sums become a mark, so that pods can be
// compared without their logs.
//
// # Bounds
//
// The log is untrusted. Labels are taken from the fixed lists of package pause; combinations beyond
// the first maxSeries are counted as "other". At most maxStreams streams are followed at a time: a
// further stream replaces the stream that has been silent longest.
//
// # Stalls
//
// A stop of the application that [pause.Stop.Suspect] suspects is held until the sampler has taken
// a sample after its end. Then its [Verdict] is the culprit that the kernel's counters show.
//
// A culprit is named if its counter grew more than usual while the application was stopped, and
// the excess is at least half of the duration of the stop. Pressure is read for the node, from
// /proc/pressure. If the JVMs' processes are visible (in a shared process namespace), it is also
// read for their cgroups, and only then can throttling be seen. The samples also hold the counters
// of the node's disks, so that the evidence of the verdict disk can name the busiest disk and the
// destination's own. These counters do not decide the verdict, because a disk may be busy with the
// requests of other processes. A pause that is suspected only because its work was not spread over
// its workers is counted only if a culprit is named.
package insight
