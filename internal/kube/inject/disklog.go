package inject

import (
	"cmp"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/attach"
)

// otherLog is an option that makes a JVM log: the old one for a file, or the
// new one, with its output behind the selection.
var otherLog = regexp.MustCompile(`-Xloggc:([^\s'"]+)|-Xlog:[^\s:'"]*:(?:file=)?"?([^\s:'"]+)`)

// diskLog returns a file to which a JVM of c logs besides, and for which it waits
// when a disk does; empty: none, as far as the pod shows.
func (p *pod) diskLog(c *corev1.Container) string {
	texts := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		texts = append(texts, e.Value)
	}
	for _, text := range texts {
		for _, found := range otherLog.FindAllStringSubmatch(text, -1) {
			file := cmp.Or(found[1], found[2])
			if file != "stdout" && file != "stderr" && !attach.OnNoDisk(file) && !p.inMemory(c, path.Dir(file)) {
				return file
			}
		}
	}
	return ""
}
