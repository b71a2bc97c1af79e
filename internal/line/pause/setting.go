package pause

import (
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
)

// Setting is a property that the JVM logged at its start, such as "Heap Max Capacity". Name
// and Value are untrusted, but always printable ASCII.
type Setting struct{ Name, Value string }

// MaxHeap returns the maximum size of the heap in bytes, or 0 if s is another property.
func (s Setting) MaxHeap() int64 {
	if s.Name == "Heap Max Capacity" || s.Name == "Max Capacity" {
		return Size(s.Value)
	}
	return 0
}

// Size parses a size in the form that HotSpot accepts and logs: "512m", "2G", "6656K". It returns 0 for anything else.
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
