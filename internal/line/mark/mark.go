package mark

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/ul"
)

// Stream is the name of the stream of marks, and of its file in the source.
const Stream = "ullage.log"

// Kind is the kind of an event.
type Kind string

// The kinds. A log may have kinds of a newer version. The comments become a table in
// docs/read-logs.md: see TestDocsListTheMarks in test/repo.
const (
	// The sidecar has taken the source. `after` is `first-start`, `clean-stop` or `kill`: how the
	// previous sidecar ended. Details: version, after.
	SidecarStarted Kind = "sidecar-started"

	// The sidecar was asked to end, and is draining. Details: uptime.
	SidecarStopped Kind = "sidecar-stopped"

	// A JVM that has started since the sidecar started. `flags` are its options `-Xm…`, `-Xs…` and
	// `-XX:…`; other options may contain secrets. Details: stream, pid, uptime, version, collector,
	// main, flags.
	JVMStarted Kind = "jvm-started"

	// A JVM that started before the sidecar. Details: the same as of jvm-started.
	JVMSeen Kind = "jvm-seen"

	// `how` is `exited`, `killed` or `crashed`; it is missing if that is unknown. `exit` is the
	// exit code, and `signal` the signal that ended it, where the process is visible and the kernel
	// is Linux 6.15 or later. `cause` is `memory-limit` (the limit of the JVM's own control group),
	// `memory-above` (the limit of a control group above it, or the node's memory) or `heap`, if
	// there is evidence; `why` has the numbers. Details: stream, pid, how, exit, signal, cause,
	// why.
	JVMEnded Kind = "jvm-ended"

	// A JVM that had no output into the source was [given an output](levels.md#adopt). Details:
	// stream, pid, selection.
	JVMAdopted Kind = "jvm-adopted"

	// That output was removed again. Details: stream, pid, selection, why, by.
	JVMReleased Kind = "jvm-released"

	// The first bytes of an `hs_err` file are durable. Details: stream.
	CrashReport Kind = "crash-report"

	// An output has the selection in addition to its own. `by` is the process that ran `ullage
	// levels set`. Details: stream, pid, selection, why, by, until.
	LevelRaised Kind = "level-raised"

	// The output has its own selection again. Details: stream, pid, selection, why, by.
	LevelRestored Kind = "level-restored"

	// The application is asked for its events at this level and above. Details: level, why, by,
	// until.
	AppLevelRaised Kind = "app-level-raised"

	// The application's own levels are in effect again. Details: level, why.
	AppLevelRestored Kind = "app-level-restored"

	// The application was stopped, and the stop [seems to be a stall](stalls.md). `verdict` names
	// what it waited for, `why` has the numbers. At most one in 10 s. Details: stream, ended,
	// seconds, verdict, why.
	JVMStalled Kind = "jvm-stalled"

	// What the log of a JVM showed from `since` until `until`, about ten minutes. `stops` counts its
	// stops by length, and goes on in `stops2` and so on. `--marks` lists it only with `--json`. `ullage
	// report --compare` reads these marks from a bucket instead of the log. Details: stream, since,
	// until, span, stopped, longest, reaching, allocated, allocating, heap, full, suspected, lost, run,
	// mixed, stops.
	JVMFigures Kind = "jvm-figures"

	// Withheld lines are persisted after all: see [hindsight](hindsight.md). Details: cause, why,
	// from, until.
	DetailSaved Kind = "detail-saved"

	// The JVM overwrote archives before they were read. Details: stream, count.
	ArchivesMissed Kind = "archives-missed"

	// A file was truncated in place; the lines before the offset `read-to` were read. Details:
	// stream, read-to.
	Truncated Kind = "truncated"

	// This many records of the application were too long, and a part of each is missing: `ullage check`
	// finds the line after each of them. At most one for each ring in a minute. Details: stream, count.
	RecordsCut Kind = "records-cut"

	// This many earlier marks were not written, because there were more than 60 in a minute.
	// Details: count.
	MarksSuppressed Kind = "marks-suppressed"
)

// The values of "how" for a JVM that has ended.
const (
	Exited  = "exited"  // it removed its socket, as a JVM does when it ends by itself or on SIGTERM
	Killed  = "killed"  // it left its socket behind
	Crashed = "crashed" // it left a report of its crash
)

// The values of "cause" for a JVM that has ended.
const (
	MemoryLimit = "memory-limit" // the kernel killed it at the limit of its own control group
	MemoryAbove = "memory-above" // ... at the limit of a group above it, or of the node
	HeapFull    = "heap"         // it exited because its heap was full
)

// Bounds on a mark. A longer value is cut, and further fields are left out.
const (
	maxWord   = 32  // bytes of a kind or key
	maxValue  = 256 // bytes of a value
	maxFields = 22
)

// MaxBytes exceeds the length of the longest mark with its newline.
const MaxBytes = 13 << 10

// Field is one detail of a mark. Keys are words of lower-case letters, digits and dashes
// that begin with a letter.
type Field struct{ Key, Value string }

// Mark is one event. Make one with [New] or [Parse].
type Mark struct {
	Time   time.Time // zero: the journal sets it
	Level  ul.Level  // Info, or Warning if lines are lost or a JVM crashed or had too little memory
	Kind   Kind
	Fields []Field
}

// New returns a mark without a time. pairs are alternating keys and values. A value may be
// untrusted text: only its printable beginning is kept. A field without a value is left out.
func New(kind Kind, pairs ...string) Mark {
	m := Mark{Level: ul.Info, Kind: kind}
	for i := 0; i+1 < len(pairs) && len(m.Fields) < maxFields; i += 2 {
		if value := printable.Text(pairs[i+1], maxValue); value != "" {
			m.Fields = append(m.Fields, Field{pairs[i], value})
		}
	}
	switch kind {
	case ArchivesMissed, Truncated, CrashReport, RecordsCut, MarksSuppressed:
		m.Level = ul.Warning
	case JVMEnded:
		if m.Get("how") == Crashed || m.Get("cause") != "" {
			m.Level = ul.Warning
		}
	}
	return m
}

// Get returns the value of a field, or "" if the mark does not have it.
func (m Mark) Get(key string) string {
	for _, f := range m.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Concerns reports whether the mark names no stream, or a stream that matches.
func (m Mark) Concerns(matches func(stream string) bool) bool {
	streams := m.Get("stream")
	return streams == "" || slices.ContainsFunc(strings.Split(streams, ","), matches)
}

const (
	intro = "mark: "
	tag   = "ullage"
)

// Append appends the line of the mark, with its newline, and returns the extended slice:
//
//	[2026-11-23T05:10:05.000+0000][info][ullage] mark: jvm-started stream=gc-7.log pid=7 flags="-Xmx2g -Xss1m"
//
// The time is in UTC. A value is in quotes unless it is a word. In quotes, a backslash
// precedes each quote and each backslash.
func (m Mark) Append(dst []byte) []byte {
	dst = append(dst, '[')
	dst = m.Time.UTC().AppendFormat(dst, ul.TimeLayout)
	dst = append(dst, "]["+m.Level.String()+"]["+tag+"] "+intro...)
	dst = append(dst, m.Kind...)
	if len(m.Fields) > 0 {
		dst = append(dst, ' ')
	}
	return append(m.AppendDetails(dst), '\n')
}

// AppendDetails appends the fields in the form of the line, separated by spaces.
func (m Mark) AppendDetails(dst []byte) []byte {
	for i, f := range m.Fields {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, f.Key...)
		dst = append(dst, '=')
		dst = appendValue(dst, f.Value)
	}
	return dst
}

func appendValue(dst []byte, value string) []byte {
	if isPlain(value) {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	for i := range len(value) {
		if value[i] == '"' || value[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, value[i])
	}
	return append(dst, '"')
}

// isPlain reports whether a value needs no quotes.
func isPlain(value string) bool {
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return value != ""
}

// Parse parses a line that [Mark.Append] wrote, with or without its newline. It accepts no
// other line: appending the result gives the same line.
func Parse(line []byte) (Mark, bool) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	var r ul.Record
	if len(line) >= MaxBytes {
		return Mark{}, false
	}
	r.Parse(line)
	text, ok := strings.CutPrefix(string(r.Message), intro)
	if !ok || r.Kind != ul.Header || r.Level != ul.Info && r.Level != ul.Warning {
		return Mark{}, false
	}
	m := Mark{Level: r.Level}
	if m.Time, ok = r.When(); !ok || !m.read(text) {
		return Mark{}, false
	}
	// The UL parser also accepts other lines, such as those with other decorators.
	if again := m.Append(nil); !bytes.Equal(again[:len(again)-1], line) {
		return Mark{}, false
	}
	return m, true
}

// read reads the kind and the fields.
func (m *Mark) read(text string) bool {
	kind, rest, more := strings.Cut(text, " ")
	m.Kind = Kind(kind)
	ok := isWord(kind)
	for ok && more {
		var f Field
		f.Key, rest, ok = strings.Cut(rest, "=")
		if !ok || !isWord(f.Key) {
			return false
		}
		f.Value, rest, ok = cutValue(rest)
		rest, more = strings.CutPrefix(rest, " ")
		ok = ok && (more || rest == "") && len(m.Fields) < maxFields &&
			f.Value != "" && printable.Text(f.Value, maxValue) == f.Value
		m.Fields = append(m.Fields, f)
	}
	return ok
}

// isWord reports whether a text can be a kind or a key.
func isWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', i > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxWord
}

// cutValue returns the value at the beginning of text, and the rest.
func cutValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		value, _, _ = strings.Cut(text, " ")
		return value, text[len(value):], true
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
