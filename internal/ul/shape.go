package ul

// A shape is the form of one field's text. The decorator also depends on the
// other fields.
type shape uint8

const (
	strangeShape shape = iota // no known field of any JVM
	emptyShape
	timeShape
	secondsShape
	millisShape
	nanosShape
	numberShape
	levelShape
	wordShape // may be a tag, or a hostname
	tagsShape // several tags
	nameShape // may be a hostname and nothing else
)

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
	i := digits(text, 0)
	switch rest := text[i:]; string(rest[:min(len(rest), 3)]) {
	case "":
		return numberShape
	case "ms":
		return millisShape
	case "ns":
		return nanosShape
	}
	switch {
	case text[i] == '.' || text[i] == ',': // the locale's separator
		if j := digits(text, i+1); j > i+1 && j == len(text)-1 && text[j] == 's' {
			return secondsShape
		}
	case isTime(text):
		return timeShape
	}
	return strangeShape
}

// digits returns the offset of the first byte from i on that is not a digit.
func digits(text []byte, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}

func isTime(text []byte) bool {
	if len(text) != len(timeForm) {
		return false
	}
	for i, c := range text {
		switch form := timeForm[i]; {
		case form == '0':
			if !isDigit(c) {
				return false
			}
		case c != form && (form != '+' || c != '-'):
			return false
		}
	}
	return true
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
