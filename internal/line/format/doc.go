// Package format finds the level and the time of a line, whichever program wrote it: the
// JVM's Unified Logging, or an application with Logback, Log4j 2, Spring Boot, JUL or JSON.
//
// The package does not change or copy a line and allocates no memory for it, and no input
// makes it fail. It looks at the first 16 KiB of a line.
//
// # What is a header
//
// Each line is judged on its own: it is a header if it has the form of a header in a format that
// the [Classifier] accepts. Any other line continues the record before it, like a stack trace or
// the further lines of an SQL statement. So one stream may mix formats. A Classifier that begins
// in the middle of a stream may not know which record its first lines continue. After the first
// header, it agrees with a Classifier of the whole stream.
//
// The level of a line decides what happens to the line, but never whether it is counted: even a
// line with a wrong level is either persisted, or dropped and counted. If the destination fails
// and a line is read again, it gets the same level, unless less was known at the first reading.
// That happens to the first of JUL's two lines if the second was not yet written. It also happens to
// a line of brackets or an object that shows no level, if it comes before the stream's first header.
//
//   - [UL]: see package ul.
//   - [Pattern]: a time, with or without a date and brackets; then a level in upper-case letters,
//     with or without brackets, after at most two words and three bracketed fields. These are the
//     default patterns of Logback, Log4j 2 and Spring Boot, and most others. The level may also
//     come first, followed by at most three bracketed fields, a date and a time: Cassandra,
//     Dropwizard, Akka. The lines of Jetty, GlassFish, WebLogic and Liberty, which have their own
//     forms, belong here too. A line that begins with a date and a time and shows no level is a
//     header of unknown level: it must not inherit the level of an error.
//   - [JUL]: the two lines of java.util.logging.SimpleFormatter in English: "Nov 23, 2026
//     7:36:35 AM com.example.Main main", and "WARNING: text" after it. The first line is
//     the header, with the level in the second line.
//   - [JDK8]: the collector's log of JDK 8 (-Xloggc): a date, the uptime in seconds, or both, each
//     followed by a colon, and then what the collector did, or a safepoint. No line has a level.
//   - [JSON]: one object per line, with a level: the member level, log.level, loglevel or
//     severity of the object, or the member level of its member log. These are the logs of
//     logstash-logback-encoder, the Elastic Common Schema (ECS), the Graylog Extended Log
//     Format (GELF, with syslog's numbers), Log4j's layouts, Liberty, Spark 4, Google Cloud,
//     and Bunyan and pino, with their own numbers.
//
// In patterns, escapes that color a line on a terminal are skipped.
//
// # Times
//
// A time without a zone is taken as UTC, which is the zone of most containers. The time of a line
// without a date is unknown. The time is also unknown if the day could be the month or the year,
// or if AM, PM or a zone's name other than UTC or GMT follows a time that has no offset. JUL's AM
// and PM are read. Apart from the zone, a time is either right or unknown.
package format
