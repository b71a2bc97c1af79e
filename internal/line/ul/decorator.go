package ul

import "strings"

// Decorator is a set of UL decorators, one bit each, in the order of the JVM's
// output. The zero value is the empty set.
type Decorator uint16

// The decorators, in the order of their fields in a line.
const (
	Time           Decorator = 1 << iota // wall clock in local time: 2026-11-20T16:45:11.123+0100
	UTCTime                              // wall clock in UTC, in the same form
	Uptime                               // since the JVM started: 0.397s
	TimeMillis                           // wall clock since the epoch: 1795193160091ms
	UptimeMillis                         // since the JVM started: 475ms
	TimeNanos                            // the system's monotonic clock: 894000463518ns
	UptimeNanos                          // since the JVM started: 4207979ns
	Hostname                             // text
	PID                                  // process, a number
	TID                                  // thread, a number
	LevelDecorator                       // trace, debug, info, warning or error
	Tags                                 // gc,heap: one to five words, or empty
)

// strong are the decorators that other loggers' brackets do not resemble.
const strong = Time | UTCTime | Uptime | TimeMillis | UptimeMillis | TimeNanos | UptimeNanos | LevelDecorator

var decoratorNames = [...]string{
	"time", "utctime", "uptime", "timemillis", "uptimemillis", "timenanos", "uptimenanos",
	"hostname", "pid", "tid", "level", "tags",
}

// String returns the set in the form of VM.log, "uptime,level,tags", or "none" for
// the empty set.
func (d Decorator) String() string {
	var names []string
	for i, name := range decoratorNames {
		if d&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}
