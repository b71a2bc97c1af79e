package index

import (
	"bytes"
	"encoding/binary"

	"github.com/ullage/ullage/internal/line/ul"
)

// recent has the texts between the clocks and the message of earlier lines, such as "[info][gc,heap] ". Most
// lines have one of a few such texts, so that one comparison replaces a parse. The zero value has none.
type recent [1 << recentBits]struct {
	level  ul.Level
	length int
	text   [longestRecent]byte
}

const (
	recentBits    = 4
	longestRecent = 48 // the longest level, and three or four tags
	hashed        = 24 // this many first bytes of a text determine its place in recent
)

// read returns the level at the beginning of text, and the length of everything before the message. It returns
// Unknown if there are decorations other than the level and perhaps tags, or if they are long.
func (r *recent) read(text []byte) (level ul.Level, length int) {
	one := &r[0]
	if len(text) >= hashed {
		const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4): it spreads all bits to the upper ones
		w := binary.LittleEndian
		one = &r[(w.Uint64(text)^w.Uint64(text[8:])^w.Uint64(text[16:]))*golden>>(64-recentBits)]
	}
	if one.length > 0 && bytes.HasPrefix(text, one.text[:one.length]) {
		return one.level, one.length
	}
	level, length = levelAt(text), plain(text)
	if length == 0 || length > len(one.text) {
		return ul.Unknown, 0
	}
	if level != ul.Unknown {
		one.level, one.length = level, copy(one.text[:], text[:length])
	}
	return level, length
}

// levelAt returns the level in the brackets at the beginning of text.
func levelAt(text []byte) ul.Level {
	const longest = len("[warning]")
	if len(text) == 0 || text[0] != '[' {
		return ul.Unknown
	}
	end := bytes.IndexByte(text[:min(len(text), longest)], ']')
	if end < 0 {
		return ul.Unknown
	}
	switch string(bytes.TrimRight(text[1:end], " ")) {
	case "trace":
		return ul.Trace
	case "debug":
		return ul.Debug
	case "info":
		return ul.Info
	case "warning":
		return ul.Warning
	case "error":
		return ul.Error
	}
	return ul.Unknown
}

// plain returns the length of the level at the beginning of text, the tags after it if there are any, and the
// space before the message. It returns 0 if there are other decorations, which is rare.
func plain(text []byte) int {
	at := bytes.IndexByte(text, ']') + 1
	if at < len(text) && text[at] == '[' {
		if levelAt(text[at:]) != ul.Unknown {
			return 0
		}
		for at++; at < len(text) && inTags[text[at]]; at++ {
		}
		if at == len(text) || text[at] != ']' || text[at-1] == '[' {
			return 0
		}
		at++
	}
	if at < len(text) && text[at] == ' ' {
		return at + 1
	}
	return 0
}

// inTags has the characters of tags, of their separator and of their padding.
var inTags = func() (is [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789_, " {
		is[c] = true
	}
	return is
}()
