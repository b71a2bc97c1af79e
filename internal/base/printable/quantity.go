package printable

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes formats a size in at most 8 columns: "17 B", "1.20 MiB", "1023 KiB".
func Bytes(n int64) string {
	number, unit := binary(n)
	return number + " " + unit + "B"
}

// Quantity formats a size as Kubernetes does, in one word of at most 6 columns:
// "17", "1.20Mi", "1023Ki".
func Quantity(n int64) string {
	number, unit := binary(n)
	return number + unit
}

// binary scales a size to its largest unit. The unit of single bytes is empty.
func binary(n int64) (number, unit string) {
	if n < 1024 {
		return strconv.FormatInt(n, 10), ""
	}
	v, power := float64(n)/1024, 0
	for ; v >= 1023.5 && power < 4; power++ {
		v /= 1024
	}
	return threeDigits(v), "KMGTP"[power:power+1] + "i"
}

// Plural formats a number with its noun: "1 line", "2 lines".
func Plural[N ~int | ~int64 | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Count formats a number in at most 9 columns: exactly if it is below a billion,
// and otherwise like "1.20G".
func Count(n int64) string {
	if n < 1e9 {
		return strconv.FormatInt(n, 10)
	}
	v, power := float64(n)/1e9, 0
	for ; v >= 999.5 && power < 3; power++ {
		v /= 1000
	}
	return threeDigits(v) + "GTPE"[power:power+1]
}

func threeDigits(v float64) string {
	digits := 0
	switch {
	case v < 9.995:
		digits = 2
	case v < 99.95:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Seconds formats a duration with the precision that a person needs: "400ms",
// "1m1s", "2d7h".
func Seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	default:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// Until formats the end of something as a local time of day. It rounds up, so
// that the end has passed at the time shown.
func Until(t time.Time) string { return t.Add(time.Second - 1).Local().Format("15:04:05") }
