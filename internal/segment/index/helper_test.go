package index

import (
	"encoding/binary"
	"hash/crc32"
)

// checked sets the right checksum for the entry in data.
func checked(data []byte) []byte {
	if len(data) < atCheck {
		return data
	}
	b := append([]byte(nil), data[:atCheck]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}
