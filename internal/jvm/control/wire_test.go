package control

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// A command may run in the sidecar's container, and any program can listen where the sidecar should. The command must
// need at most a few tens of megabytes of memory, even if the application answers it with a few megabytes.
func TestAForgedAnswerTakesLittleMemory(t *testing.T) {
	for name, element := range map[string]string{"numbers": "0,", "empty texts": `"",`, "objects": "{},", "with texts": `"\\\",",{},`} {
		text := `{"listed":[{"Outputs":[` + strings.Repeat(element, (maxReply-100)/len(element)) + "0]}]}"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeReply([]byte(text))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 2*maxReply {
			t.Errorf("%s: decoding allocated %d bytes, error %v, want an error and at most 2*maxReply", name, took, err)
		}
	}
}

// The longest possible list can be decoded.
func TestTheLongestListIsDecoded(t *testing.T) {
	t.Parallel()
	var r Reply
	for pid := range 16 {
		l := outputs.Listed{PID: pid, Outputs: make([]outputs.ListedOutput, 256)}
		for i := range l.Outputs {
			l.Outputs[i] = outputs.ListedOutput{Output: attach.Output{Name: `file=/a,"b\c,",` + strings.Repeat(",", 50), Selection: fakejvm.OwnSelection}, Problem: ",,"}
		}
		r.Listed = append(r.Listed, l)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeReply(text)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("a list of %d bytes is decoded with the error %v; want the same list and no error", len(text), err)
	}
}

// An older ullage that does not know streams must not raise all streams instead.
func TestAnOlderOwnerIsToldApart(t *testing.T) {
	t.Parallel()
	answer := Reply{Errors: []string{`decode the request: json: unknown field "stream"`}}
	if err := (Request{Verb: VerbSet, Raise: ask.Raise{Stream: "gc.log"}}).tooOld(answer); err == nil || !strings.Contains(err.Error(), "older") {
		t.Errorf(`got the error %v, want "older" in it`, err)
	}
	for _, r := range []Request{{Verb: VerbSet}, {Verb: VerbReset}} {
		if err := r.tooOld(answer); err != nil {
			t.Error(err)
		}
	}
	if err := (Request{Verb: VerbSet, Raise: ask.Raise{Stream: "gc.log"}}).tooOld(Reply{Errors: []string{"refused"}}); err != nil {
		t.Error(err)
	}
}

func TestForgedStreamsAreRefused(t *testing.T) {
	t.Parallel()
	gc, err := ask.ParseSelection("gc=debug")
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{strings.Repeat("a", 201), "[", "../gc.log", "a\nb", "a\u202eb", "\xff", ".hidden", "a/b"} {
		r := Request{Verb: VerbSet, Raise: ask.Raise{Selection: gc, For: time.Minute}}
		r.Stream = stream
		if err := r.check(); err == nil || strings.ContainsAny(err.Error(), "\n\u202e") {
			t.Errorf("the stream %q: error %v, want an error without line breaks and control characters", stream, err)
		}
	}
}

// The bound on a list includes the names of the JVMs.
func TestTheNamesOfJVMsCount(t *testing.T) {
	if n := size([]outputs.Listed{{JVM: attach.Description{Main: "four", Version: "17", Collector: "G1"}}}); n != 8 {
		t.Errorf("the size is %d bytes, want 8", n)
	}
}
