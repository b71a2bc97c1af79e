// Package jvm deals with running JVMs: what may be asked of them, who may ask it, and how they
// answer.
//
//   - ask: the labels and annotations of a pod; log selections as in -Xlog (it builds on
//     every system, for the kubectl plugin)
//   - attach: HotSpot's attach protocol, and its command VM.log
//   - adopt: a place to log to for a JVM for which nothing was prepared
//   - handover: carries a durable copy out of a container while it grows
//   - outputs: the log outputs of JVMs: which are shipped; how to list, rotate and set them
//   - census: which JVMs write to the source; their starts and ends
//   - trigger: which lines and stops meet the condition of a trigger
//   - plan: the wanted and the applied levels of each JVM, kept across crashes; the tasks that
//     make them equal
//   - control: the process that owns the levels of a source, and commands that ask it
//   - levels: raises levels for an annotation, a trigger or a command for a time, and restores them
//   - footprint: an estimate, from its pod, of the most memory that a container with a JVM can take
//   - insight: metrics of the JVM from its log, and verdicts about suspected stalls
package jvm
