// Package format finds the level and the time of a line, whichever program wrote it: the
// JVM's Unified Logging, or an application by Logback, Log4j 2, Spring Boot, JUL or as JSON.
//
// The package never changes, copies or allocates anything for a line, and no input makes it
// fail. It looks at the first 16 KiB of a line.
//
// # What is a header
//
// Each line is judged by itself: it is a header if it has the form of one in a format that
// the [Classifier] accepts. Any other line continues the record before it, as a stack trace
// and the further lines of an SQL statement do. So one stream may mix formats, and a
// Classifier that begins in the middle of a stream differs from one that has read all of it
// only until the first header: it may not know what the lines before that continue.
//
// The level of a line decides what happens to the line, and never whether it is counted:
// a line that is judged wrongly is persisted, or dropped and counted, as exactly as any
// other, at the level that it was given. A line that is read again, after an error of the
// destination, has the same level again, but for lines whose first reading saw less: the
// first line of JUL's two before the second one was written, and brackets without a level or
// an object without one before the first header of the stream.
//
//   - [UL]: see package ul.
//   - [Pattern]: a date and a time, or a time, in brackets or not; then a level in
//     upper-case letters, in brackets or not, after at most two words and three bracketed
//     fields. These are the default patterns of Logback, Log4j 2 and Spring Boot, and
//     most others. Or the level first, and a date and a time after at most three bracketed
//     fields: Cassandra, Dropwizard, Akka. Also the lines of Jetty, GlassFish, WebLogic and
//     Liberty, which are like none of these. A line that begins with a date and a time and
//     shows no level is a header of unknown level: it must not inherit that of an error.
//   - [JUL]: the two lines of java.util.logging.SimpleFormatter in English: "Nov 23, 2026
//     7:36:35 AM com.example.Main main", and "WARNING: text" after it. The first line is
//     the header, with the level that the second one shows.
//   - [JDK8]: the collector's log of JDK 8 (-Xloggc): a date, or the uptime in seconds, or both, each
//     with a colon after it, and then what the collector or a safepoint did. No line has a level.
//   - [JSON]: one object in a line, with a level in it: the member level, log.level,
//     loglevel or severity of the object, or level of its member log. These are the logs of
//     logstash-logback-encoder, the Elastic Common Schema (ECS), the Graylog Extended Log
//     Format (GELF, with syslog's numbers), Log4j's layouts, Liberty, Spark 4, Google Cloud,
//     and Bunyan and pino, with numbers of their own.
//
// Escapes that color a line on a terminal are passed over in patterns.
//
// # Times
//
// A time without a zone is taken as UTC, which is the zone of most containers. A line with
// a time but without a date has no time that this package could return. Neither has a line
// with an ambiguous date, in which the day may be the month or the year, or with the name
// of a zone or PM after its time. A time is right, or it is unknown.
package format
