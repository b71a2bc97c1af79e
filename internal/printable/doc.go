// Package printable turns values into what a person reads: text that somebody
// else wrote, sizes, counts, durations and times of day.
//
// Text from the application, an annotation, a JVM or another server may hold a
// line end, a terminal's control sequence, or a control that reorders what is
// shown after it. [Line], [Text] and [Escaped] return one line of printable
// characters whatever they are given, and [JSON] does the same for JSON. Whoever logs, prints or sends such text
// passes it through one of them first.
//
// How a setting is spelled is package settings' subject.
package printable
