// Package ul reads one line of the JVM's Unified Logging (UL, -Xlog): its
// decorations, its level, its tags and its message.
//
// The package does not change or copy a line and allocates no memory for it, and no
// input makes it fail. A line that is not UL is [Text]. The package has no
// configuration: it uses only the text of the line, so it reads any output of any
// JVM, even after the decorators were changed at run time.
//
// # Two readers
//
// [Record.Parse] splits one line into its parts, and uses only that line.
// [Classifier.Classify] returns only the kind and level of a line, at a small
// fraction of the cost, and keeps the level that a continuation inherits. Both return
// the same kind and level for the same line, unless earlier lines make a difference:
//
//   - A line without decorations after a header is a [Continuation] of that header
//     (JDK 23 and earlier write the second and further lines of a message without
//     decorations). Without a header before it, the line is Text. So a stream has no
//     Text after its first header.
//   - In a stream whose headers are strong, a weak prefix (see below) makes a line a Continuation. So
//     does the lack of a strong prefix in a line that would otherwise be a Drop.
//   - A line without decorations is a Drop only before the first header.
//
// A Continuation has the level of its record, or level [Unknown] if that record was
// not seen. JDK 24 and later begin the further lines of a message with a blank
// bracket, "[      ] ", which Parse recognizes.
//
// A [Drop] is the JVM's own report of lines that -Xlog:async discarded. The JVM
// writes it between two records, never inside one. If two JVMs share the file, a
// continuation may still follow a Drop. That line belongs to the record before the
// Drop: a Drop does not change the level that a continuation inherits.
//
// # The prefix
//
// Decorations are bracketed fields without anything between them, in the order of the [Decorator]
// constants. The first "] " ends them. A prefix has at most 16 fields and 1024 bytes, which bounds
// the work that a hostile line can cause; the JVM's prefixes are much shorter. [Record.UnknownFields]
// counts the fields whose shape is unknown or whose decorator cannot be in that place. Such fields
// are not an error.
//
// A prefix is strong if it has a level or any of the time, uptime,
// milliseconds and nanoseconds fields. A prefix with only hostname, pid, tid and
// tags is weak: "[main] INFO hello", from another logger, looks the same. A weak
// prefix makes a Header only if all its fields are known and the stream has had no
// strong prefix. So if the decorators of a stream are changed from strong to weak
// at run time, its lines keep the last level from then on.
//
// # JDK 8
//
// Before Unified Logging, the collector had its own log (-Xloggc), whose records begin with the date,
// the uptime, or both: "2015-05-26T14:45:37.987-0200: 151.126: [GC (Allocation Failure) ...". If the
// rest is about collections or safepoints, such a line is a Header without a level, and
// [Record.Stamped] is set. In a stream with a strong prefix it is a Continuation.
//
// # Ambiguities
//
// Some fields look the same for two decorators. Parse chooses the first decorator of each of these
// pairs and sets it in [Record.Ambiguous]:
//
//   - one time field with zone +0000: Time, or UTCTime (the same instant);
//   - one nanoseconds field: UptimeNanos, or TimeNanos;
//   - one number: PID, or TID;
//   - one word, in a prefix without level, hostname, pid and tid: Tags, or Hostname. A field that is
//     empty or has a comma can only be Tags. A field with a dash, a dot or an upper-case letter can
//     only be Hostname: no tag has these.
//
// For other fields, one reading is so much likelier that Parse does not flag them:
//
//   - A single milliseconds field is TimeMillis if it is at least 10^12 (the year
//     2001), and otherwise UptimeMillis (up to 31 years). If there are two such
//     fields, their order distinguishes them.
//   - The last field that spells a level is the level. So a host named "info"
//     is the hostname if the line has a level, and the level otherwise.
//   - A host whose name is a number is the hostname if both pid and tid are present, and otherwise
//     one of these. A host with a name such as "12ms" is read as a clock if that clock could be in
//     its place.
//   - "[ ] text" is a Continuation, although on an output with only tags it could be a record without
//     tags. The JVM's drop message in this form is a Drop.
//   - The drop message without any decorations is a Drop, since the JVM prints it that way with
//     decorators "none".
//   - A line that happens to begin like a strong prefix is a Header, even if its output has
//     decorators "none", if another program wrote it, or if it is a continuation without decorations:
//     its text does not show the difference.
//
// A line does not prove who wrote it. Any process that can write to the file can
// write a line of any kind and level.
package ul
