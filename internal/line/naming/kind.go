package naming

import "path"

// Kind is the content of a stream, which the name of its files shows. The zero value is a log.
type Kind string

// The kinds of files that a JVM writes besides its logs.
const (
	KindLog    Kind = ""
	KindCrash  Kind = "crash"     // the report of a crash: -XX:ErrorFile
	KindReplay Kind = "replay"    // what a compiler was doing: -XX:ReplayDataFile, -XX:InlineDataFile
	KindOutput Kind = "vm-output" // -XX:+LogVMOutput
)

// kinds are HotSpot's default names, with whatever suffix. A source follows these files
// whether they match or not.
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

// KindOf returns the kind of a file or stream by its name.
func KindOf(name string) Kind {
	for _, k := range kinds {
		if ok, _ := path.Match(k.pattern, name); ok {
			return k.kind
		}
	}
	return KindLog
}
