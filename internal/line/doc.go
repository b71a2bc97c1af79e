// Package line holds the packages that deal with log lines. None of them opens a file.
//
//   - ul: a line of Unified Logging: decorations, level, tags, message
//   - format: level and time of a line in any format: UL, patterns, JUL, JSON
//   - loggers: which loggers of an application are raised, and to which levels
//   - pause: pauses, collections and stops, read from lines
//   - cut: where lines begin and end
//   - mark: lines that record events around a log, such as the start of a JVM
//   - naming: the stream of a file and the kind of its content, by its name
package line
