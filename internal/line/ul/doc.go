// Package ul reads one line of the JVM's Unified Logging (UL, -Xlog): its
// decorations, its level, its tags and its message.
//
// The package never changes, copies or allocates anything for a line, and no input
// makes it fail. A line that is not UL is [Text]. The package has no configuration:
// it sees only the text of the line, so it reads any output of any JVM, even after
// the decorators were changed at run time.
//
// # Two readers
//
// [Record.Parse] splits one line into its parts, and sees that line alone.
// [Classifier.Classify] returns only the kind and level of a line, at a small
// fraction of the cost, and remembers what a continuation inherits. Both return the
// same kind and level for the same line, except where the earlier lines decide:
//
//   - A line without decorations that follows a header is a [Continuation] of
//     it (JDK 23 and older write the second and further lines of a message
//     so). Alone it is Text. So a stream has no Text after its first header.
//   - A weak prefix, see below, is a Continuation in a stream whose headers are
//     strong. So is a line that would be a Drop but has no strong prefix.
//   - A line without decorations is a Drop only where no header was seen.
//
// A Continuation has the level of its record, and level [Unknown] where that
// record was not seen. JDK 24 and newer begin the further lines of a message
// with a blank bracket, "[      ] ", which Parse knows by itself.
//
// A [Drop] is the JVM's own report of lines that -Xlog:async discarded. The JVM
// writes it between two records, never inside one. If a continuation follows a Drop
// nevertheless, because two JVMs share the file, that line belongs to the record
// before the Drop: a Drop does not change what a continuation inherits.
//
// # The prefix
//
// Decorations are bracketed fields without anything between them, in the order
// of the [Decorator] constants, and the first "] " ends them. A prefix has at most
// 16 fields and 1024 bytes, which bounds the work that a hostile line can cause; the
// JVM stays far below. [Record.UnknownFields] counts fields of an unknown shape and
// fields in a place where their decorator cannot be; they are no error.
//
// A prefix is strong if it has a level or any of the time, uptime,
// milliseconds and nanoseconds fields. Hostname, pid, tid and tags alone make
// it weak: "[main] INFO hello", by another logger, looks the same. A weak
// prefix makes a Header, but only if all of its fields are known, and it never
// displaces a strong one in the same stream. So a stream that is changed from
// strong to weak decorators at run time keeps its last level after that.
//
// # JDK 8
//
// Before Unified Logging, the collector had a log of its own (-Xloggc), whose records begin with the
// date, the uptime, or both: "2015-05-26T14:45:37.987-0200: 151.126: [GC (Allocation Failure) ...".
// Such a line is a Header without a level, and [Record.Stamped], where what follows is about
// collections or safepoints. In a stream with a strong prefix it is a Continuation.
//
// # Ambiguities
//
// Some fields read the same under two decorators. Parse takes the first of
// each pair, and says so in [Record.Ambiguous]:
//
//   - one time field with zone +0000: Time, or UTCTime (the same instant);
//   - one nanoseconds field: UptimeNanos, or TimeNanos;
//   - one number: PID, or TID;
//   - one word, without level, hostname, pid and tid next to it: Tags, or Hostname.
//     A comma or an empty field is Tags without doubt, and what no tag can be
//     spelled like (a dash, a dot, an upper-case letter) is Hostname.
//
// Others have a reading so much likelier that Parse does not flag them:
//
//   - One milliseconds field is TimeMillis from 10^12 up (the year 2001), and
//     UptimeMillis below (31 years). Their order distinguishes two of them.
//   - The last field that spells a level is the level. So a host named "info"
//     is read well if the line has a level and as the level otherwise.
//   - A host whose name is a number is read well where pid and tid are both
//     there, else as one of them. A host named like "12ms" is read as a clock
//     where that clock may be.
//   - "[      ] text" is a Continuation, though on an output with tags alone it
//     could be a record without tags. The JVM's drop message is a Drop there.
//   - The drop message without any decoration is a Drop, since decorators
//     "none" print it so.
//   - Any line of decorators "none", of another program, or of a raw
//     continuation that happens to begin like a strong prefix is a Header:
//     nothing in its text is different.
//
// Bytes prove nothing about their author. Any process that can write to the file
// can write a line of any kind and level.
package ul
