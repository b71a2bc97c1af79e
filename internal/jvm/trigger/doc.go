// Package trigger finds lines and stops of a JVM that meet the conditions of a trigger.
//
// A [Set] has two triggers. It checks each new line once for both and, if stops are joined, each
// stop:
//
//   - One trigger raises log levels. Package levels arms and disarms it, and it fires once each time
//     that it is armed. Lines and stops that meet a condition while it is not armed are counted as
//     missed.
//   - The other trigger saves the lines that are held in hindsight. It raises nothing, so it is
//     never disarmed, and each line or stop that meets a condition fires it.
//
// The reader of the lines calls [Set.Line], [Set.Stop] and [Set.CaughtUp] from one goroutine. They
// are cheap and do not block. The other methods are for one other goroutine, that of the Loop of
// package levels, unless their comment says that they are safe for concurrent use.
package trigger
