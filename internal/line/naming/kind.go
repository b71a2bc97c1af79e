package naming

import "path"

// Kind is the kind of a stream's content, derived from the names of its files. The zero value is
// a log.
type Kind string

// The kinds: a log, and other files that a JVM writes.
const (
	KindLog    Kind = ""
	KindCrash  Kind = "crash"     // the report of a crash: -XX:ErrorFile
	KindReplay Kind = "replay"    // what a compiler was doing: -XX:ReplayDataFile, -XX:InlineDataFile
	KindOutput Kind = "vm-output" // -XX:+LogVMOutput
)

// kinds are HotSpot's default names, with any suffix. A source follows these files even if
// they do not match --match.
var kinds = []struct {
	pattern string
	kind    Kind
}{
	{"hs_err*", KindCrash},
	{"replay_pid*", KindReplay},
	{"inline_pid*", KindReplay},
	{"hotspot_*", KindOutput},
	{"hotspot.log", KindOutput},
}

// KindOf returns the kind of a file or stream from its name.
func KindOf(name string) Kind {
	for _, k := range kinds {
		if ok, _ := path.Match(k.pattern, name); ok {
			return k.kind
		}
	}
	return KindLog
}
