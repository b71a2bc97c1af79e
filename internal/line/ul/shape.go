package ul

import "encoding/binary"

// A shape is the form of one field's text. The decorator also depends on the
// other fields.
type shape uint8

const (
	strangeShape shape = iota // not a field that a JVM is known to write
	emptyShape
	timeShape
	secondsShape
	millisShape
	nanosShape
	numberShape
	levelShape
	wordShape // may be a tag, or a hostname
	tagsShape // several tags
	nameShape // can only be a hostname
)

// TimeLayout is the layout of the time decoration, in the form that package [time] uses. Times in marks and in our
// own human-readable texts have it too.
const TimeLayout = "2006-01-02T15:04:05.000-0700"

const timeForm = "0000-00-00T00:00:00.000+0000"

func isDigit(c byte) bool { return c-'0' < 10 }

func isTagByte(c byte) bool { return c-'a' < 26 || c == '_' || isDigit(c) }

func shapeOf(text []byte) shape {
	switch {
	case len(text) == 0:
		return emptyShape
	case isDigit(text[0]):
		if s := shapeOfNumber(text); s != strangeShape {
			return s
		}
	case levelOf(text) != Unknown:
		return levelShape
	}
	return shapeOfWords(text)
}

// shapeOfNumber recognizes the times and numbers; text begins with a digit.
func shapeOfNumber(text []byte) shape {
	if isSeconds(text) {
		return secondsShape
	}
	i := digits(text, 0)
	switch rest := text[i:]; string(rest[:min(len(rest), 3)]) {
	case "":
		return numberShape
	case "ms":
		return millisShape
	case "ns":
		return nanosShape
	}
	if isTime(text) {
		return timeShape
	}
	return strangeShape
}

// isSeconds reports whether the text has the form "0.397s", with a point or a comma.
func isSeconds(text []byte) bool {
	end := len(text) - 1
	if end < len("0.3") || text[end] != 's' {
		return false
	}
	i := digits(text, 0)
	if i == 0 || text[i] != '.' && text[i] != ',' {
		return false
	}
	j := digits(text, i+1)
	return j > i+1 && j == end
}

// digits returns the offset of the first byte at i or later that is not a digit.
func digits(text []byte, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}

// isTime reports whether the text has the form of timeForm, with either sign. It looks at eight
// bytes at once, because most lines begin with a time.
func isTime(text []byte) bool {
	if len(text) != len(timeForm) || text[23] != '+' && text[23] != '-' {
		return false
	}
	word, sign := binary.LittleEndian.Uint64, uint64(text[23])
	return isForm(word(text), 0x00ffff00ffffffff, '-'<<32|'-'<<56) &&
		isForm(word(text[8:]), 0xffff00ffff00ffff, 'T'<<16|':'<<40) &&
		isForm(word(text[16:]), 0x00ffffff00ffff00, ':'|'.'<<24|sign<<56) &&
		isForm(word(text[20:]), 0xffffffff00ffffff, sign<<24)
}

// isForm reports whether the bytes that digits selects in a word are digits, and the other
// bytes equal rest.
func isForm(word, digits, rest uint64) bool {
	const zeros, high, six = 0x3030303030303030, 0xf0f0f0f0f0f0f0f0, 0x0606060606060606
	v := word&digits | zeros&^digits
	return word&^digits == rest && v&high == zeros && (v+six)&high == zeros
}

func shapeOfWords(text []byte) shape {
	s := wordShape
	if isDigit(text[0]) {
		s = nameShape
	}
	for i, c := range text {
		switch {
		case isTagByte(c):
		case c == ',' && s != nameShape && i > 0 && i < len(text)-1 && text[i-1] != ',':
			s = tagsShape
		case c <= ' ' || c == '[' || c == ',' || c == 0x7f:
			return strangeShape
		case s == tagsShape:
			return strangeShape
		default:
			s = nameShape
		}
	}
	return s
}
