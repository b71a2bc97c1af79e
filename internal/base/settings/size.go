package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text form is the Kubernetes quantity: a
// decimal number with an optional suffix, binary (Ki, Mi, Gi, Ti) or decimal
// (k, M, G, T). It implements [flag.Value] and [encoding.TextMarshaler].
//
// The zero value is zero bytes.
type Size int64

// Powers of 1024, for defaults.
const (
	Ki Size = 1 << 10
	Mi Size = 1 << 20
	Gi Size = 1 << 30
)

// units lists the suffixes. Larger binary ones come first, because String takes the first
// suffix that divides the value.
var units = []struct {
	suffix string
	factor int64
}{
	{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3},
}

// ParseSize reads a quantity such as "64Mi", "1.5Gi" or "4096". A negative
// value, an unknown suffix and a value over 8 EiB are errors.
func ParseSize(text string) (Size, error) {
	number, factor := text, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			number, factor = n, u.factor
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/factor {
		return Size(n * factor), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	// The form is checked too, because ParseFloat accepts "inf", "1e3" and "0x1p3".
	if err != nil || strings.Trim(number, "0123456789.") != "" || f*float64(factor) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size (write it like 64Mi, 1Gi or 4096)", text)
	}
	return Size(f * float64(factor)), nil
}

// String renders the size with the largest binary suffix that loses nothing.
func (s Size) String() string {
	for _, u := range units[:4] {
		if s != 0 && int64(s)%u.factor == 0 {
			return strconv.FormatInt(int64(s)/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Set implements [flag.Value].
func (s *Size) Set(text string) error {
	v, err := ParseSize(text)
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// MarshalText implements [encoding.TextMarshaler] with [Size.String].
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
