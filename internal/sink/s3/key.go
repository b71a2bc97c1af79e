package s3

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
)

// Folders of a bucket.
const (
	logFolder   = "log"
	indexFolder = "index"
	dayLayout   = "2006-01-02"
)

// unknown is the partition for a name that the sidecar does not know.
const unknown = "unknown"

// key returns the name of a segment's object.
func (b *Bucket) key(pod sink.Pod, stream string, seg segment.Info) string {
	return b.join(logFolder, part("namespace", pod.Namespace), part("pod", pod.Name), part("container", pod.Container), part("stream", stream),
		part("date", seg.Start.UTC().Format(dayLayout)), seg.Name)
}

// indexKey returns the name of an index object for a day. begun is when the object was begun.
func (b *Bucket) indexKey(pod sink.Pod, day string, begun time.Time) string {
	return b.join(indexFolder, part("namespace", pod.Namespace), part("pod", pod.Name), part("container", pod.Container), part("date", day),
		begun.UTC().Format("20060102T150405.000Z")+".json")
}

func (b *Bucket) join(parts ...string) string {
	if b.Prefix != "" {
		parts = append([]string{b.Prefix}, parts...)
	}
	return strings.Join(parts, "/")
}

// part returns a folder that is a partition.
func part(name, value string) string { return name + "=" + escape(cmp.Or(value, unknown)) }

// escape writes each byte as %XX unless it is a letter, a digit or one of -_.~. So no name leads
// out of its folder. Readers of partitions decode the name.
func escape(text string) string {
	var s strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, "%%%02X", c)
		}
	}
	return s.String()
}
