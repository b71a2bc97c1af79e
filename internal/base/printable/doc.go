// Package printable formats values for people: untrusted text, sizes, counts,
// durations and times of day.
//
// Text from the application, an annotation, a JVM or another server may contain
// a line end, a terminal's control sequence, or a character that reorders the
// text after it. [Line], [Text] and [Escaped] always return one line of
// printable characters, and [JSON] does the same for JSON. Every caller that
// logs, prints or sends such text passes it through one of them first.
//
// Package settings defines how settings are spelled.
package printable
