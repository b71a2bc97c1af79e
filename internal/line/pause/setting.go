package pause

import (
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
)

// Setting is a property that the JVM logged at its start, as "Heap Max Capacity". Both
// are untrusted, and printable ASCII.
type Setting struct{ Name, Value string }

// MaxHeap returns the largest heap in bytes if the property is that, or 0.
func (s Setting) MaxHeap() int64 {
	if s.Name == "Heap Max Capacity" || s.Name == "Max Capacity" {
		return Size(s.Value)
	}
	return 0
}

// Size reads a size as HotSpot takes and writes it: "512m", "2G", "6656K". It returns 0 for anything else.
func Size(text string) int64 {
	if text = strings.ToUpper(text); strings.TrimRight(text, "KMGT") != text {
		text += "i"
	}
	size, err := settings.ParseSize(text)
	if err != nil {
		return 0
	}
	return int64(size)
}
