// Package trigger finds lines and stops of a JVM that meet the conditions of a trigger.
//
// A [Set] has two triggers. It sees each new line once for both, and each stop if stops
// are joined:
//
//   - one raises log levels. The levels arm it and disarm it, and it fires once
//     each time that it is armed: see package levels. What meets a condition meanwhile is
//     counted as missed.
//   - one saves the lines that are held in hindsight. It raises nothing, so it is never
//     disarmed, and fires for each line and stop.
//
// The reader of the lines calls [Set.Line], [Set.Stop] and [Set.CaughtUp], which are cheap,
// do not block, and are for one goroutine. The other methods are for the goroutine of the
// levels, unless they say that they are safe for concurrent use.
package trigger
