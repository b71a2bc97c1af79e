package mark

import "strings"

// Flags returns the arguments of a JVM that set its memory and its behavior: -Xm*, -Xs* and
// -XX:*, except options that run a command. Others, such as -Dpassword=, may hold secrets
// of the application and are never shown in a mark or a report.
func Flags(args string) string {
	var flags []string
	for arg := range strings.FieldsSeq(args) {
		runs := strings.HasPrefix(arg, "-XX:OnError") || strings.HasPrefix(arg, "-XX:OnOutOfMemoryError")
		if !runs && (strings.HasPrefix(arg, "-Xm") || strings.HasPrefix(arg, "-Xs") || strings.HasPrefix(arg, "-XX:")) {
			flags = append(flags, arg)
		}
	}
	return strings.Join(flags, " ")
}
