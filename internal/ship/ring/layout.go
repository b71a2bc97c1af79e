package ring

import (
	"encoding/binary"

	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
)

// The layout of a ring file, version 2. All numbers are little endian.
// Layout.java has the same constants.
//
// The header is followed by the control block (tail, head, counters of drops), the
// templates, and the data. A record begins at a multiple of 8 and never wraps around. It
// consists of a word, a time, an id and a thread, and the payload. Positions count all
// bytes since the ring was created. The offset in the data is the position modulo the
// capacity.
const (
	magic   = 0x31474E5247474C55 // "ULGGRNG1"
	version = 2

	// The header. The JVM writes it before the file gets its name.
	versionAt    = 8
	dataOffsetAt = 12
	capacityAt   = 16
	stripesAt    = 24
	maxPayloadAt = 28
	pidAt        = 32
	monotonicAt  = 40 // System.nanoTime() ...
	wallAt       = 48 // ... and the nanoseconds since the epoch at the same moment
	flagsAt      = 56 // 0
	headerBytes  = 64

	// Only the sidecar writes these fields. raise.go describes the form of the first and
	// the last.
	raisedAt    = 128 // u32: the lowest levels of wanted events; 0: nothing is raised
	abandonedAt = 132 // u32: 1 makes the JVM continue in another ring
	loggersAt   = 256 // which loggers are raised, and to which levels
	loggersEnd  = loggersAt + rulesText + loggers.MaxText

	// The control block. The sidecar writes the head; the JVM writes everything else.
	controlAt      = 4096
	controlBytes   = 512
	closedBit      = 1 << 62 // a bit of the tail: the JVM has returned the ring and claims nothing more
	headAt         = 128     // u64, followed by its complement
	dropsAt        = 256     // u64 by reason and level
	droppedBytesAt = dropsAt + 8*ul.NumReasons*ul.NumLevels

	templatesAt = 36864 // for each template: u16 length and text
	maxTemplate = 1024
	dataAt      = 65536

	minCapacity = 64 << 10
	maxCapacity = 1 << 30

	// A record.
	timeAt     = 8
	idAt       = 16
	threadAt   = 20
	payloadAt  = 24
	maxPayload = 32 << 10

	// maxPad bounds the length of a pad. A pad fills the rest of the ring, which was too short for
	// a claim, or the claim of a thread that had no stack left. The bound is enough for one of each.
	maxPad = 2 * (payloadAt + maxPayload)
)

// The kinds of records.
const (
	kindPad   = 1
	kindText  = 2 // an id and a text
	kindLongs = 3 // numbers for a template
	kindLine  = 4 // the line "[thread] logger message", whose length is in id, then further lines
	kindOwn   = 5 // lines in the application's own layout
)

// flagCut marks a record with a part missing, because it was too long.
const flagCut = 2

var le = binary.LittleEndian

// state is how far a record has been written.
type state uint8

const (
	free     state = iota // zero: not claimed, or just claimed
	claimed               // the length is known, the content is not
	complete              // the whole record is there
	bad                   // a word that no writer writes
)

// A word is the first word of a record.
type word struct {
	state state
	kind  uint8
	level ul.Level
	flags uint8
	n     int // bytes of the payload
	size  int // of the whole record, a multiple of 8
}

const wordBits = 48 // bits of a complete word below its check

// check returns the check of a complete word at a position.
func check(bits, pos uint64) uint64 {
	return (bits*0x9E3779B97F4A7C15 + pos*0xC2B2AE3D27D4EB4F) >> wordBits
}

// parseWord parses the word w at a position. A claimed word has no check, so its length may
// be any number in range.
func parseWord(w, pos uint64) word {
	low := int32(uint32(w))
	switch {
	case w == 0:
		return word{}
	case low < 0:
		n := int(-(low + 1))
		if n > maxPayload || w>>32 != 0 {
			return word{state: bad}
		}
		return word{state: claimed, n: n, size: recordSize(n)}
	case low == 0, w>>wordBits != check(w&(1<<wordBits-1), pos):
		return word{state: bad}
	}
	r := word{state: complete, kind: uint8(w>>36) & 15, level: ul.Level(w>>32) & 15, flags: uint8(w >> 40), n: int(low - 1)}
	r.size = recordSize(r.n)
	good := r.level < ul.NumLevels && r.n <= maxPayload
	switch r.kind {
	case kindPad:
		r.size = r.n
		good = r.n >= 8 && r.n%8 == 0 && r.n <= maxPad
	case kindText, kindLine, kindOwn:
	case kindLongs:
		good = good && (r.n == 8 || r.n == 16 || r.n == 24)
	default:
		good = false
	}
	if !good {
		return word{state: bad}
	}
	return r
}

// recordSize returns the size of a record with a payload of n bytes.
func recordSize(n int) int { return (payloadAt + n + 7) &^ 7 }
