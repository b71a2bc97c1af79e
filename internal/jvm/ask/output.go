package ask

import (
	"fmt"
	"strings"
)

// A JVM is given this output into the source by the injector, in a command-line option, or by a
// sidecar with --adopt while the JVM runs. JDK 11 and later support these decorators, from
// which times and levels are read. The JVM does not rotate the file by itself. A file that
// another run has left under the same name is renamed instead of truncated.
const (
	OutputFile       = "gc-%p.log"
	OutputDecorators = "time,uptime,level,tags"
	OutputArchives   = "filecount=5"
	OutputOptions    = OutputArchives + ",filesize=0"
)

// AdoptNothing is the text for adopting no JVM, whatever the defaults are.
const AdoptNothing = "off"

// ParseAdopted parses the selection for JVMs without an output into the source. It returns the zero
// Selection if they are to be given no output.
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
