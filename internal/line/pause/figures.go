package pause

import (
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// Figures sum up what the log of a JVM showed in a period. The zero value has nothing.
type Figures struct {
	// Since and Until are when the first and the last line of the period were written, in
	// UTC.
	Since, Until time.Time

	Span       time.Duration // for how long the JVM ran in the period
	Stopped    time.Duration // the sum of all stops
	Longest    time.Duration // the longest stop
	Reaching   time.Duration // the longest time to safepoint
	Allocated  int64         // bytes
	Allocating time.Duration // the time in which Allocated was allocated
	Heap       int64         // bytes in use after the last collection; 0: unknown
	Full       uint64        // full collections
	Suspected  uint64        // stops with any suspicion
	Lost       uint64        // lines that the JVM itself dropped
	Run        int           // the number of the JVM in its log
	Mixed      bool          // lines of two JVMs interleave, so nothing else is known
	Stops      Durations
}

// The keys of the fields.
const (
	keySince      = "since"
	keyUntil      = "until"
	keySpan       = "span"
	keyStopped    = "stopped"
	keyLongest    = "longest"
	keyReaching   = "reaching"
	keyAllocated  = "allocated"
	keyAllocating = "allocating"
	keyHeap       = "heap"
	keyFull       = "full"
	keySuspected  = "suspected"
	keyLost       = "lost"
	keyRun        = "run"
	keyMixed      = "mixed"
	keyStops      = "stops" // the text continues in stops2, stops3 and so on
)

// pieceBytes bounds the text of the stops in one field. It is less than the longest value of a mark.
const pieceBytes = 250

// keyOf returns the key of a piece of the stops, counted from 0.
func keyOf(piece int) string {
	if piece == 0 {
		return keyStops
	}
	return keyStops + strconv.Itoa(piece+1)
}

// Fields returns the figures as alternating keys and values. The value of a figure that is zero is
// empty.
func (f *Figures) Fields() []string {
	length := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return strings.Replace(d.String(), "µ", "u", 1) // a mark quotes a value that is not ASCII
	}
	number := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatUint(n, 10)
	}
	mixed := ""
	if f.Mixed {
		mixed = "true"
	}
	fields := []string{
		keySince, f.Since.UTC().Format(ul.TimeLayout), keyUntil, f.Until.UTC().Format(ul.TimeLayout),
		keySpan, length(f.Span), keyStopped, length(f.Stopped), keyLongest, length(f.Longest), keyReaching, length(f.Reaching),
		keyAllocated, number(uint64(f.Allocated)), keyAllocating, length(f.Allocating), keyHeap, number(uint64(f.Heap)),
		keyFull, number(f.Full), keySuspected, number(f.Suspected), keyLost, number(f.Lost), keyRun, number(uint64(f.Run)), keyMixed, mixed,
	}
	if len(f.Stops.counts) == 0 {
		return fields
	}
	text := f.Stops.String()
	for piece := 0; text != ""; piece++ {
		n := min(pieceBytes, len(text))
		fields = append(fields, keyOf(piece), text[:n])
		text = text[n:]
	}
	return fields
}

// ReadFigures is the inverse of [Figures.Fields]. get returns the value of a key, or "". ReadFigures returns false
// if a value is one that Fields never returns.
func ReadFigures(get func(key string) string) (f Figures, ok bool) {
	ok = true
	when := func(key string) time.Time {
		t, err := time.Parse(ul.TimeLayout, get(key))
		ok = ok && err == nil && ul.Believed(t)
		return t.UTC()
	}
	length := func(key string) time.Duration {
		text := get(key)
		if text == "" {
			return 0
		}
		d, err := time.ParseDuration(text)
		ok = ok && err == nil && d > 0 && d <= maxFigure
		return d
	}
	number := func(key string) uint64 {
		text := get(key)
		if text == "" {
			return 0
		}
		n, err := strconv.ParseUint(text, 10, 64)
		ok = ok && err == nil && n > 0 && n < maxNumber
		return n
	}
	f = Figures{
		Since: when(keySince), Until: when(keyUntil),
		Span: length(keySpan), Stopped: length(keyStopped), Longest: length(keyLongest), Reaching: length(keyReaching),
		Allocated: int64(number(keyAllocated)), Allocating: length(keyAllocating), Heap: int64(number(keyHeap)),
		Full: number(keyFull), Suspected: number(keySuspected), Lost: number(keyLost), Run: int(number(keyRun)),
	}
	text := ""
	for piece := range MaxDurationsText / pieceBytes {
		text += get(keyOf(piece))
	}
	if text != "" {
		var read bool
		f.Stops, read = ParseDurations(text)
		ok = ok && read
	}
	f.Mixed = get(keyMixed) != ""
	return f, ok && !f.Until.Before(f.Since)
}

// Bounds on a figure, so that the sum of many figures does not overflow.
const (
	maxFigure = 10 * 366 * 24 * time.Hour
	maxNumber = 1 << 56
)
