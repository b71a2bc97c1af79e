package report

import (
	"bytes"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

// maxTags bounds the number of tag sets that are counted separately.
const maxTags = 512

// volume counts the lines of a stream by level and tags, and the lines that a report cannot
// use.
type volume struct {
	sum    *sum.Sum
	parser ul.Parser
	tags   map[string]*view.Share
	args   arguments

	bare, headers, unread, long uint64
}

// count counts a line, of which n bytes were examined, and returns its message.
func (v *volume) count(line []byte, class ul.Class, n int, broken bool) (message []byte) {
	v.sum.Line(class.Level, n+1)
	if class.Kind != ul.Header {
		if class.Kind == ul.Text && v.args.jdk8(line) {
			return nil
		}
		if class.Kind != ul.Drop && (len(line) == 0 || line[0] != '[') {
			v.bare++
		}
		return nil
	}
	v.headers++
	message = line[class.Message:]
	fields := line[:len(line)-len(message)-len("] ")]
	name := fields[bytes.LastIndexByte(fields, '[')+1:]
	if line[0] != '[' { // JDK 8 has no tags
		name = nil
	}
	share, ok := v.tags[string(name)]
	if !ok {
		share = v.newTags(line, name)
	}
	share.Lines++
	share.Bytes += uint64(n) + 1
	if share == v.args.tag && !broken && n < cut.HeadBytes {
		v.args.line(message)
	}
	return message
}

// newTags returns the entry for the line's tags. It stores the entry under the text of the
// last field, which usually holds the tags.
func (v *volume) newTags(line, field []byte) *view.Share {
	r, name := v.parser.Parse(line), ""
	if r.Present&ul.Tags != 0 {
		name = string(bytes.TrimRight(r.Tags, " "))
	}
	share := v.sum.Tags(name)
	if name == argumentsTag {
		v.args.tag = share
	}
	if len(v.tags) < maxTags {
		v.tags[string(field)] = share
	}
	return share
}
