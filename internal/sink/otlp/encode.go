package otlp

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/sink"
)

// Field numbers of opentelemetry/proto/{logs,common,resource}/v1.
const (
	logsResourceLogs = 1

	resourceLogsResource = 1
	resourceLogsScope    = 2
	resourceAttributes   = 1

	scopeLogsScope   = 1
	scopeLogsRecords = 2
	scopeName        = 1

	recordTime         = 1
	recordSeverity     = 2
	recordSeverityText = 3
	recordBody         = 5
	recordAttributes   = 6
	recordObserved     = 11
	recordEvent        = 12

	keyValueKey   = 1
	keyValueValue = 2
	valueString   = 1
	valueInt      = 3
	valueDouble   = 4
)

// severities are SEVERITY_NUMBER_TRACE, _DEBUG and so on.
var severities = [ul.NumLevels]uint64{ul.Unknown: 0, ul.Trace: 1, ul.Debug: 5, ul.Info: 9, ul.Warning: 13, ul.Error: 17}

// encoder encodes batches. It reuses its memory for the next batch.
type encoder struct {
	resource  []header // attributes of every batch
	uidPrefix string

	records []byte
	ends    []int // the end of each record in records
	record  []byte
	uid     []byte
	prefix  int // length of the part of uid that all lines of the batch share
	clean   []byte
}

// recordOverhead is the approximate size of a record without its text. It is used so that
// records grows only once.
const recordOverhead = 192

// batch encodes the lines of b.
func (e *encoder) batch(b *sink.Batch, now time.Time) {
	e.records, e.ends = slices.Grow(e.records[:0], int(b.Bytes)+len(b.Lines)*recordOverhead), e.ends[:0]
	e.uid = append(append(append(append(e.uid[:0], e.uidPrefix...), b.Stream...), '/'), b.Segment.Name...)
	e.uid = append(e.uid, '/')
	e.prefix = len(e.uid)
	for i := range b.Lines {
		e.line(&b.Lines[i], now)
		e.records = protowire.AppendTag(e.records, scopeLogsRecords, protowire.BytesType)
		e.records = protowire.AppendBytes(e.records, e.record)
		e.ends = append(e.ends, len(e.records))
	}
}

// line encodes one line into record.
func (e *encoder) line(l *sink.Line, now time.Time) {
	p := l.Parts()
	r := appendFixed(e.record[:0], recordTime, l.Time)
	r = appendFixed(r, recordObserved, now)
	if l.Level != ul.Unknown {
		r = protowire.AppendTag(r, recordSeverity, protowire.VarintType)
		r = protowire.AppendVarint(r, severities[l.Level])
		r = protowire.AppendTag(r, recordSeverityText, protowire.BytesType)
		r = protowire.AppendString(r, l.Level.String())
	}
	text := e.utf8(p.Message)
	r = protowire.AppendTag(r, recordBody, protowire.BytesType)
	r = protowire.AppendVarint(r, uint64(sizeOf(len(text))))
	r = protowire.AppendTag(r, valueString, protowire.BytesType)
	r = protowire.AppendBytes(r, text)
	e.uid = strconv.AppendInt(e.uid[:e.prefix], l.Offset, 10)
	r = appendText(r, recordAttributes, "log.record.uid", e.uid)
	if p.Tags != nil {
		r = appendText(r, recordAttributes, "ul.tags", p.Tags)
	}
	if p.Uptime >= 0 {
		r = appendDouble(r, "ul.uptime", p.Uptime.Seconds())
	}
	if p.GC >= 0 {
		r = appendInt(r, "ul.gc.id", uint64(p.GC))
	}
	if p.PID != nil {
		r = appendDigits(r, "process.pid", p.PID)
	}
	if p.TID != nil {
		r = appendDigits(r, "thread.id", p.TID)
	}
	if p.Missed > 0 {
		r = appendInt(r, "ul.dropped", p.Missed)
	}
	if p.IsGap {
		r = appendGap(r, &p.Gap)
	} else if l.Kind == ul.Header {
		if stop, ok := pause.Parse(l.Text); ok {
			r = appendStop(r, &stop)
		}
	}
	e.record = r
}

// appendStop appends the attributes of a line that ends a stop of the application: a pause of the
// collector, or a safepoint, which may contain such a pause. A thread that the stop delayed cannot end
// a request before the stop is over, so the time of the record is within that request. The
// attributes jvm.gc.* have the values of the semantic conventions, which are the values in the JVM's
// own notifications about collections.
func appendStop(r []byte, e *pause.Event) []byte {
	name := ""
	switch {
	case e.Kind == pause.Pause && e.GC >= 0: // JDK 8 shows no number, and its line has the time of the beginning
		name = "ullage.gc_pause"
		r = appendText(r, recordAttributes, "jvm.gc.action", []byte(notified(e)))
		if cause := e.Cause(); cause != pause.None && cause != pause.Other {
			r = appendText(r, recordAttributes, "jvm.gc.cause", []byte(cause))
		}
	case e.Kind == pause.Safepoint:
		name = "ullage.safepoint"
		if operation := e.Operation(); operation != pause.None && operation != pause.Other {
			r = appendText(r, recordAttributes, "ullage.safepoint.operation", []byte(operation))
		}
		r = appendDouble(r, "ullage.safepoint.reaching_seconds", e.Reaching.Seconds())
	default:
		return r
	}
	r = appendDouble(r, "ullage.stop.seconds", e.Duration.Seconds())
	r = protowire.AppendTag(r, recordEvent, protowire.BytesType)
	return protowire.AppendString(r, name)
}

// notified returns the action that the JVM's own notification about a pause would name.
func notified(e *pause.Event) string {
	switch e.Action() {
	case "young", "mixed", "prepare mixed", "concurrent start":
		return "end of minor GC"
	case "full":
		return "end of major GC"
	case "remark", "cleanup":
		return "end of concurrent GC pause"
	}
	return "end of GC pause"
}

// utf8 returns text with U+FFFD in place of each run of bytes that are not UTF-8.
func (e *encoder) utf8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	e.clean = e.clean[:0]
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r != utf8.RuneError || n > 1 || !bytes.HasSuffix(e.clean, replacement) {
			e.clean = utf8.AppendRune(e.clean, r)
		}
		text = text[n:]
	}
	return e.clean
}

var replacement = []byte("\ufffd")

// appendGap appends the attributes of a marker.
func appendGap(r []byte, g *ul.Gap) []byte {
	r = protowire.AppendTag(r, recordEvent, protowire.BytesType)
	r = protowire.AppendString(r, "ullage.gap")
	r = appendInt(r, "ullage.gap.lines", g.Total())
	r = appendInt(r, "ullage.gap.bytes", g.Bytes)
	r = appendDouble(r, "ullage.gap.seconds", g.Last.Sub(g.First).Seconds())
	for reason := range g.Lines {
		for level, n := range g.Lines[reason] {
			if n > 0 {
				r = appendInt(r, "ullage.gap."+ul.Reason(reason).String()+"."+ul.Level(level).String(), n)
			}
		}
	}
	return r
}

// envelope returns the part of the message before its records. records is their size in bytes.
func (e *encoder) envelope(stream string, records int) []byte {
	var resource []byte
	for _, a := range e.resource {
		resource = appendText(resource, resourceAttributes, a.name, []byte(a.value))
	}
	resource = appendText(resource, resourceAttributes, "log.file.name", []byte(stream))
	var scope []byte
	scope = protowire.AppendTag(scope, scopeName, protowire.BytesType)
	scope = protowire.AppendString(scope, "ullage")

	inner := protowire.AppendTag(nil, resourceLogsResource, protowire.BytesType)
	inner = protowire.AppendBytes(inner, resource)
	inner = protowire.AppendTag(inner, resourceLogsScope, protowire.BytesType)
	inner = protowire.AppendVarint(inner, uint64(sizeOf(len(scope))+records))
	inner = protowire.AppendTag(inner, scopeLogsScope, protowire.BytesType)
	inner = protowire.AppendBytes(inner, scope)

	outer := protowire.AppendTag(nil, logsResourceLogs, protowire.BytesType)
	outer = protowire.AppendVarint(outer, uint64(len(inner)+records))
	return append(outer, inner...)
}

// sizeOf is the size of a field of n bytes with a tag of one byte.
func sizeOf(n int) int { return 1 + protowire.SizeBytes(n) }

// appendFixed appends a time.
func appendFixed(r []byte, field protowire.Number, at time.Time) []byte {
	r = protowire.AppendTag(r, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(r, uint64(at.UnixNano()))
}

// appendKey begins an attribute. value is the size of its AnyValue in bytes.
func appendKey(r []byte, field protowire.Number, key string, value int) []byte {
	r = protowire.AppendTag(r, field, protowire.BytesType)
	r = protowire.AppendVarint(r, uint64(sizeOf(len(key))+sizeOf(value)))
	r = protowire.AppendTag(r, keyValueKey, protowire.BytesType)
	r = protowire.AppendString(r, key)
	r = protowire.AppendTag(r, keyValueValue, protowire.BytesType)
	return protowire.AppendVarint(r, uint64(value))
}

func appendText(r []byte, field protowire.Number, key string, value []byte) []byte {
	r = appendKey(r, field, key, sizeOf(len(value)))
	r = protowire.AppendTag(r, valueString, protowire.BytesType)
	return protowire.AppendBytes(r, value)
}

func appendInt(r []byte, key string, value uint64) []byte {
	value = min(value, math.MaxInt64)
	r = appendKey(r, recordAttributes, key, 1+protowire.SizeVarint(value))
	r = protowire.AppendTag(r, valueInt, protowire.VarintType)
	return protowire.AppendVarint(r, value)
}

// appendDigits appends a number from a line, unless it is out of range.
func appendDigits(r []byte, key string, digits []byte) []byte {
	n, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil {
		return r
	}
	return appendInt(r, key, n)
}

func appendDouble(r []byte, key string, value float64) []byte {
	r = appendKey(r, recordAttributes, key, 1+8)
	r = protowire.AppendTag(r, valueDouble, protowire.Fixed64Type)
	return protowire.AppendFixed64(r, math.Float64bits(value))
}

// resourceOf returns the attributes of every record, from the pod and from the environment.
func resourceOf(pod sink.Pod, service string, more []header) []header {
	own := []header{{"service.name", service}, {"k8s.namespace.name", pod.Namespace},
		{"k8s.pod.name", pod.Name}, {"k8s.container.name", pod.Container}}
	own = slices.DeleteFunc(own, func(a header) bool { return a.value == "" })
	for _, a := range more {
		is := func(o header) bool { return o.name == a.name }
		if !slices.ContainsFunc(own, is) {
			own = append(own, a)
		}
	}
	for i := range own {
		own[i].value = strings.ToValidUTF8(own[i].value, string(replacement))
	}
	return own
}
