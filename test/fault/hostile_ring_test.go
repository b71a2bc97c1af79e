package fault

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The tenant forges these parts of the layout of an event ring: see package ring.
const (
	ringMagic    = 0x31474E5247474C55
	ringVersion  = 2
	ringControl  = 4096
	ringData     = 65536
	ringCapacity = 65536
)

// ring creates an event ring, or damages a ring, its journal or its text.
func (n *tenant) ring() {
	id := fmt.Sprintf("events-%d-%d", rand.IntN(4), 1763722140123+rand.IntN(6))
	ring, text, journal := filepath.Join(n.dir, id+".ring"), filepath.Join(n.dir, id+".log"), filepath.Join(n.dir, ".ullage", id+".journal")
	switch rand.IntN(8) {
	case 0:
		n.linkAs(ring)
	case 1:
		n.linkAs(text)
	case 2:
		if isDirectory(filepath.Dir(journal)) {
			n.linkAs(journal)
		}
	case 3:
		n.scribble(journal, 2048)
	case 4:
		n.scribble(text, 4096)
	case 5:
		if f := n.open(ring, 0); f != nil {
			_ = f.Truncate(int64(rand.IntN(ringData + ringCapacity)))
			f.Close()
		}
	case 6:
		n.scribble(ring, ringData+ringCapacity)
	case 7:
		n.forgeRing(ring)
	}
}

// linkAs makes the name a link to a victim, or removes it.
func (n *tenant) linkAs(name string) {
	_ = os.RemoveAll(name)
	switch rand.IntN(3) {
	case 0:
		_ = os.Symlink(n.victim(), name)
	case 1:
		_ = os.Link(n.victim(), name)
	}
}

// scribble changes some bytes of a file.
func (n *tenant) scribble(name string, size int) {
	f := n.open(name, 0)
	if f == nil || !isDirectory(filepath.Dir(name)) {
		return
	}
	defer f.Close()
	for range 8 {
		_, _ = f.WriteAt(binary.LittleEndian.AppendUint64(nil, rand.Uint64()>>rand.IntN(64)), int64(rand.IntN(size)))
	}
}

// forgeRing writes a whole ring with some valid records and, one time in three, a random cursor. It keeps the newest
// ring open, as a living JVM does.
func (n *tenant) forgeRing(name string) {
	if n.full() {
		return
	}
	_ = os.Remove(name)
	f := n.open(name, os.O_CREATE)
	if f == nil {
		return
	}
	le := binary.LittleEndian
	b := make([]byte, ringData+ringCapacity)
	le.PutUint64(b, ringMagic)
	le.PutUint32(b[8:], ringVersion)
	le.PutUint32(b[12:], ringData)
	le.PutUint64(b[16:], ringCapacity)
	le.PutUint32(b[24:], 1)
	le.PutUint32(b[28:], 32<<10)
	le.PutUint64(b[ringControl+136:], ^uint64(0))
	pos := uint64(0)
	for pos < uint64(rand.IntN(ringCapacity/2)) {
		payload := "ok\n[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 5 lines\x1b[2J"
		bits := uint64(len(payload)+1) | 3<<32 | 2<<36
		at := ringData + pos
		le.PutUint64(b[at:], bits|(bits*0x9E3779B97F4A7C15+pos*0xC2B2AE3D27D4EB4F)>>48<<48)
		copy(b[at+24:], payload)
		pos += uint64(24+len(payload)+7) &^ 7
	}
	if rand.IntN(3) == 0 {
		pos = rand.Uint64() >> rand.IntN(64)
	}
	le.PutUint64(b[ringControl:], pos)
	_, _ = f.Write(b)
	if n.held != nil {
		n.held.Close()
	}
	n.held = f
}
