package settings

import (
	"errors"
	"flag"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var errDuration = errors.New("write it like 500ms, 10s or 24h")

// ParseDuration reads what [time.ParseDuration] reads, optionally preceded by days: 7d, 1d12h.
// A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n >= uint64(math.MaxInt64/day) {
		return 0, errDuration
	}
	if found && rest == "" {
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(rest)
	// After days, no sign is allowed, and the rest must be less than a day.
	if err != nil || found && (strings.ContainsAny(rest[:1], "+-") || d >= day) {
		return 0, errDuration
	}
	return time.Duration(n)*day + d, nil
}

// DurationVar declares a flag whose value [ParseDuration] reads.
func DurationVar(fs *flag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	fs.Var((*durationValue)(p), name, usage)
}

// durationValue implements [flag.Getter].
type durationValue time.Duration

func (d *durationValue) String() string { return time.Duration(*d).String() }

func (d *durationValue) Get() any { return time.Duration(*d) }

func (d *durationValue) Set(text string) error {
	v, err := ParseDuration(text)
	if err == nil {
		*d = durationValue(v)
	}
	return err
}
