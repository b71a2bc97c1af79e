// Package ul reads one line of the JVM's Unified Logging (UL, -Xlog): its
// decorations, its level, its tags and its message.
//
// A line is data here, never more: nothing is changed, nothing is copied,
// nothing is allocated, and no input makes the package fail. What is not UL is
// [Text]. The package knows no configuration; the text of the line is all it
// has, so that it reads any output of any JVM, also after its decorators were
// changed at run time.
//
// # Two readers
//
// [Record.Parse] takes a line apart and looks at that line alone.
// [Classifier.Classify] says only what kind and level a line has, at a small
// fraction of the cost, and remembers from line to line what a continuation
// inherits. Both return the same kind and level for the same line, except
// where only the lines before it can tell:
//
//   - A line without decorations that follows a header is a [Continuation] of
//     it (JDK 23 and older write the second and further lines of a message
//     so). Alone it is Text. After a header, then, there is no Text in the
//     stream.
//   - A weak prefix, see below, is a Continuation in a stream whose headers
//     are strong, and so is whatever would be a Drop without a strong prefix.
//   - A Drop without any decoration is one only where no header was seen.
//
// A Continuation has the level of its record, and level [Unknown] where that
// record was not seen. JDK 24 and newer begin the further lines of a message
// with a blank bracket, "[      ] ", which Parse knows by itself.
//
// A [Drop] is the JVM's own report of lines that -Xlog:async discarded. The JVM
// writes it between two records, never inside one. If a continuation follows
// it all the same (two JVMs share the file), that line belongs to the record
// before it: a Drop leaves what is inherited as it was.
//
// # The prefix
//
// Decorations are bracketed fields without anything between them, in the order
// of the [Decorator] constants, and the first "] " ends them. At most 16
// fields and 1024 bytes are taken for a prefix, which bounds the work that a
// hostile line can cause; the JVM stays far below. A field that has no known
// shape, or that stands where its decorator cannot, is tolerated and counted
// in [Record.UnknownFields].
//
// A prefix is strong if it has a level or any of the time, uptime,
// milliseconds and nanoseconds fields. Hostname, pid, tid and tags alone make
// it weak: "[main] INFO hello", by another logger, looks the same. A weak
// prefix makes a Header, but only if all of its fields are known, and it never
// displaces a strong one in the same stream. So a stream that is changed from
// strong to weak decorators at run time keeps its last level from there on.
//
// # Ambiguities
//
// Some fields read the same under two decorators. Parse takes the first of
// each pair, and says so in [Record.Ambiguous]:
//
//   - one time field with zone +0000: Time, or UTCTime (the same instant);
//   - one nanoseconds field: UptimeNanos, or TimeNanos;
//   - one number: PID, or TID;
//   - one word, without level, hostname, pid and tid beside it: Tags, or Hostname.
//     A comma or an empty field is Tags without doubt, and what no tag can be
//     spelled like (a dash, a dot, an upper-case letter) is Hostname.
//
// Others have a reading so much likelier that Parse does not flag them:
//
//   - One milliseconds field is TimeMillis from 10^12 up (the year 2001), and
//     UptimeMillis below (31 years). Two of them are told apart by order.
//   - The last field that spells a level is the level. So a host named "info"
//     is read well beside a level, and as the level where there is none.
//   - A host whose name is a number is read well where pid and tid are both
//     there, else as one of them. A host named like "12ms" is read as a clock
//     where that clock may stand.
//   - "[      ] text" is a Continuation, though on an output with tags alone it
//     could be a record without tags. The JVM's drop message is a Drop there.
//   - The drop message without any decoration is a Drop, since decorators
//     "none" print it so.
//   - Any line of decorators "none", of another program, or of a raw
//     continuation that happens to begin like a strong prefix is a Header:
//     nothing in its text is different.
//
// Bytes prove nothing about their author. Whoever can write to the file can
// write a line of any kind and level.
package ul
