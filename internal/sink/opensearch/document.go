package opensearch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/sink"
)

// maxID bounds an id, as the servers do. A longer one is replaced by its hash.
const maxID = 512

// encoder renders lines as pairs of an action and a document, in ECS names.
type encoder struct {
	fixed  []byte // fields of every document, with a comma behind each
	prefix string // of ids: what tells the lines of this sidecar from those of all others

	uid  []byte
	text []byte
}

func newEncoder(pod sink.Pod, service string) encoder {
	name := pod.Name
	if name == "" {
		name, _ = os.Hostname() // the pod's name, as a rule
	}
	e := encoder{prefix: cmp.Or(pod.Namespace, "-") + "/" + name + "/" + cmp.Or(pod.Container, "-") + "/"}
	for _, f := range [][2]string{{"service.name", service}, {"orchestrator.namespace", pod.Namespace}, {"orchestrator.resource.name", pod.Name}, {"container.name", pod.Container}} {
		if f[1] != "" {
			e.fixed = append(appendString(append(e.fixed, `"`+f[0]+`":`...), []byte(f[1])), ',')
		}
	}
	return e
}

// line appends the action and the document of a line to text.
func (e *encoder) line(b *sink.Batch, l *sink.Line) {
	e.uid = b.AppendUID(append(e.uid[:0], e.prefix...), l)
	if len(e.uid) > maxID {
		sum := sha256.Sum256(e.uid)
		e.uid = hex.AppendEncode(e.uid[:0], sum[:])
	}
	t := append(e.text, `{"create":{"_id":`...)
	t = appendString(t, e.uid)
	t = append(t, "}}\n{\"@timestamp\":\""...)
	t = l.Time.UTC().AppendFormat(t, "2006-01-02T15:04:05.000000000Z")
	t = append(t, `",`...)
	t = append(t, e.fixed...)
	t = append(t, `"log.file.path":`...)
	t = appendString(t, []byte(b.Stream))
	if l.Level != ul.Unknown {
		t = append(append(append(t, `,"log.level":"`...), l.Level.String()...), '"')
	}
	p := l.Parts()
	t = appendParts(t, &p)
	t = append(t, `,"message":`...)
	t = appendString(t, p.Message)
	e.text = append(t, "}\n"...)
}

// appendParts appends what UL's decorations and a marker say.
func appendParts(t []byte, p *sink.Parts) []byte {
	if p.Tags != nil {
		separator := `,"ul.tags":[`
		for tag := range bytes.SplitSeq(p.Tags, []byte{','}) {
			t = appendString(append(t, separator...), tag)
			separator = ","
		}
		t = append(t, ']')
	}
	if p.Uptime >= 0 {
		t = strconv.AppendFloat(append(t, `,"ul.uptime":`...), p.Uptime.Seconds(), 'f', -1, 64)
	}
	if p.GC >= 0 {
		t = strconv.AppendInt(append(t, `,"ul.gc.id":`...), p.GC, 10)
	}
	t = appendDigits(t, `,"process.pid":`, p.PID)
	t = appendDigits(t, `,"process.thread.id":`, p.TID)
	if p.Missed > 0 {
		t = strconv.AppendUint(append(t, `,"ul.dropped":`...), p.Missed, 10)
	}
	if !p.IsGap {
		return t
	}
	t = strconv.AppendUint(append(t, `,"event.action":"ullage.gap","ullage.gap.lines":`...), p.Gap.Total(), 10)
	t = strconv.AppendUint(append(t, `,"ullage.gap.bytes":`...), p.Gap.Bytes, 10)
	t = strconv.AppendFloat(append(t, `,"ullage.gap.seconds":`...), p.Gap.Last.Sub(p.Gap.First).Seconds(), 'f', -1, 64)
	for reason := range p.Gap.Lines {
		for level, n := range p.Gap.Lines[reason] {
			if n > 0 {
				t = append(t, `,"ullage.gap.`+ul.Reason(reason).String()+"."+ul.Level(level).String()+`":`...)
				t = strconv.AppendUint(t, n, 10)
			}
		}
	}
	return t
}

// appendDigits appends a number that a line shows, unless it is no int64.
func appendDigits(t []byte, key string, digits []byte) []byte {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return t
	}
	return strconv.AppendInt(append(t, key...), n, 10)
}

// appendString appends text as a JSON string. What is not UTF-8 becomes U+FFFD, one for a
// run of such bytes.
func appendString(t, text []byte) []byte {
	const digits = "0123456789abcdef"
	t = append(t, '"')
	replaced := false
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			replaced = false
			switch {
			case c == '"' || c == '\\':
				t = append(t, '\\', c)
			case c < ' ' || c == 0x7f:
				t = append(t, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			default:
				t = append(t, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if bad := r == utf8.RuneError && n == 1; !bad || !replaced {
			t = utf8.AppendRune(t, r)
			replaced = bad
		}
		i += n
	}
	return append(t, '"')
}
