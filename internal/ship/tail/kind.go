package tail

import (
	"path"
	"strings"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
)

// follows reports whether a file with this name is followed. The file of marks is always
// followed, even if unlinking had to turn it into an archive (see [unlinker.putBack]). A ring
// is never followed: its events are followed in the file that package ring makes from them.
func (c Config) follows(name string) bool {
	if name == statedir.Name || isRing(name) {
		return false
	}
	if _, ok := naming.EventsOf(name); ok {
		return true
	}
	ok, _ := path.Match(c.Match, name)
	return ok || naming.KindOf(name) != naming.KindLog || naming.StreamOf(name) == mark.Stream
}

// isRing reports whether a name is that of a ring of events, complete or not, or of a flight
// recorder. An earlier library created such recorders, which overwrote themselves and had no
// reader. A JVM with that library may still write recorder files, which are not logs.
func isRing(name string) bool {
	if base, ok := strings.CutSuffix(name, ".ring.new"); ok {
		name = strings.TrimPrefix(base, ".") + ".ring"
	}
	return strings.HasSuffix(name, ".ring") && (strings.HasPrefix(name, "events-") || strings.HasPrefix(name, "recorder-"))
}

// reclaims reports whether the memory of the file is freed at all. The mode applies to the
// JVMs' files. The sidecar always frees the memory of its own files, because no other process
// can.
func (c Config) reclaims(name string) bool {
	_, own := naming.EventsOf(name)
	return own || c.Reclaim != ReclaimNone
}

// punches reports whether holes may be punched into the file.
func (c Config) punches(name string) bool {
	_, own := naming.EventsOf(name)
	return own || c.Reclaim == ReclaimAuto || c.Reclaim == ReclaimPunch
}
