// Package line defines the lines of logs. Nothing in it opens a file.
//
//   - ul: a line of Unified Logging: decorations, level, tags, message
//   - format: level and time of a line in any format: UL, patterns, JUL, JSON
//   - loggers: which loggers of an application are raised, and to which levels
//   - pause: pauses, collections and stops, read out of lines
//   - cut: where lines begin and end
//   - mark: what happened around a log, as a line
//   - naming: which stream a file belongs to, and what a JVM writes into it, by its name
package line
