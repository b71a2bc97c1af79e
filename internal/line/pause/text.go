package pause

import (
	"bytes"
	"time"
)

// maxDigits keeps a number of nanoseconds below 10^18, so that twice the sum of two
// such numbers does not overflow.
const maxDigits = 18

func isDigit(c byte) bool { return c-'0' < 10 }

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

// cutPrefix is bytes.CutPrefix for a constant prefix, which it does not copy.
func cutPrefix(text []byte, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return text, false
	}
	return text[len(prefix):], true
}

// digits returns the decimal number at the beginning of text, and its length. The length is 0 if there is
// no number, or if it has more than maxDigits digits.
func digits(text []byte) (value int64, n int) {
	for n < len(text) && isDigit(text[n]) {
		if n == maxDigits {
			return 0, 0
		}
		value = value*10 + int64(text[n]-'0')
		n++
	}
	return value, n
}

// decimal reads all of text, a number with a fraction, in the given unit. The decimal
// separator is a point or a comma. A fraction finer than a nanosecond is refused.
func decimal(text []byte, unit time.Duration) (time.Duration, bool) {
	whole, n := digits(text)
	if n == 0 || n == len(text) || text[n] != '.' && text[n] != ',' {
		return 0, false
	}
	fraction, m := digits(text[n+1:])
	if m == 0 || n+1+m != len(text) || whole >= 1e18/int64(unit) {
		return 0, false
	}
	value := time.Duration(whole) * unit
	for range m {
		if unit /= 10; unit == 0 {
			return 0, false
		}
	}
	return value + time.Duration(fraction)*unit, true
}

// nanos reads all of text, in the form "12345 ns".
func nanos(text []byte) (time.Duration, bool) {
	value, n := digits(text)
	return time.Duration(value), n > 0 && string(text[n:]) == " ns"
}

// isPauseName reports whether text consists of words and then groups in brackets, each after
// one space: "Young (Normal) (System.gc())". It is this strict because a full disk can cut a
// record, and the next record is then glued to it. Text that is glued into a name contains a
// square bracket, or a "GC(" where no group can begin.
func isPauseName(text []byte) bool {
	if len(text) == 0 || len(text) > maxName || !isLetter(text[0]) {
		return false
	}
	depth, closed, last := 0, false, byte(0)
	for _, c := range text {
		switch {
		case c == '(':
			if depth == 0 && last != ' ' {
				return false
			}
			depth++
		case c == ')':
			if depth == 0 {
				return false
			}
			depth--
			closed = true
		case c == ' ':
			if last == ' ' {
				return false
			}
		case closed && depth == 0, !isLetter(c) && !isDigit(c) && bytes.IndexByte([]byte("._-:/"), c) < 0:
			return false
		}
		last = c
	}
	return depth == 0 && last != ' '
}

// isOperation reports whether all of text can be the name of a VM operation.
func isOperation(text []byte) bool {
	for _, c := range text {
		if !isLetter(c) && !isDigit(c) && c != '_' && c != ' ' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxName
}
