package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxCPU is the greatest [CPU] that a flag takes.
const MaxCPU CPU = 1024

// CPU is an amount of CPU time per time, in cores. Its text form is the
// Kubernetes quantity: cores, with up to three decimals, or thousandths of a
// core with the suffix m. It implements [flag.Value] and
// [encoding.TextMarshaler].
//
// The zero value sets no amount: what the container has.
type CPU float64

// ParseCPU reads an amount such as "500m", "0.5" or "2". A negative value,
// another suffix, a part of a thousandth and a value over [MaxCPU] are errors.
func ParseCPU(text string) (CPU, error) {
	milli, ok := parseMilli(text)
	if !ok {
		return 0, fmt.Errorf("%q is not an amount of CPU (write it like 500m, 0.5 or 2)", text)
	}
	if milli > uint64(MaxCPU*1000) {
		return 0, fmt.Errorf("%q is more CPU than the %s cores that can be asked for", text, MaxCPU)
	}
	return CPU(milli) / 1000, nil
}

// parseMilli reads an amount in thousandths of a core.
func parseMilli(text string) (uint64, bool) {
	whole, milli := strings.CutSuffix(text, "m")
	fraction := ""
	if !milli {
		whole, fraction, _ = strings.Cut(text, ".")
		fraction = strings.TrimRight(fraction, "0")
		if len(fraction) > 3 || whole+fraction == "" {
			return 0, false
		}
		fraction += "000"[len(fraction):]
	}
	// ParseUint takes digits and nothing else in base 10.
	n, err := strconv.ParseUint(whole+fraction, 10, 64)
	return n, err == nil
}

// String renders whole cores as such, and everything else in thousandths, to
// which it is rounded.
func (c CPU) String() string {
	milli := int64(math.Round(float64(c) * 1000))
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// Set implements [flag.Value] with [ParseCPU]. It leaves the amount as it is if
// text is not one.
func (c *CPU) Set(text string) error {
	v, err := ParseCPU(text)
	if err != nil {
		return err
	}
	*c = v
	return nil
}

// MarshalText implements [encoding.TextMarshaler] with [CPU.String].
func (c CPU) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
