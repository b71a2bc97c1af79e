package ask

import (
	"fmt"
	"strings"
)

// The output into the source that the injector gives a JVM by its command line, and a sidecar
// with --adopt while the JVM runs. JDK 11 and later take these decorators, and they are
// what times and levels are read from. The JVM rotates nothing by itself, and a file that
// another run has left under the same name is renamed rather than truncated.
const (
	OutputFile       = "gc-%p.log"
	OutputDecorators = "time,uptime,level,tags"
	OutputArchives   = "filecount=5"
	OutputOptions    = OutputArchives + ",filesize=0"
)

// AdoptNothing is the text by which no JVM is adopted, whatever the defaults say.
const AdoptNothing = "off"

// ParseAdopted reads what JVMs without an output into the source are to log there: a
// selection, or nothing, which is the zero Selection.
func ParseAdopted(text string) (Selection, error) {
	if text = strings.TrimSpace(text); text == "" || text == AdoptNothing {
		return Selection{}, nil
	}
	s, err := ParseSelection(text)
	if err != nil {
		return Selection{}, fmt.Errorf("%w; or %s, for no output", err, AdoptNothing)
	}
	return s, nil
}
