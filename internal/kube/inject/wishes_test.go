package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// podWith returns a pod with one container and these annotations. Their names are
// given without our prefix.
func podWith(t *testing.T, annotations map[string]string) []byte {
	t.Helper()
	all := map[string]string{}
	for name, value := range annotations {
		all[ask.Prefix+name] = value
	}
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "app", "annotations": all},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app:v1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var longValue = strings.Repeat("x", 200<<10)

// badAnnotations are malformed annotations and what the warning says about each.
var badAnnotations = []struct{ name, value, want string }{
	{"attach", "yes", "use auto, shared-tmp, process-namespace or off"},
	{"budget", "512Ki", "at least 1Mi"},
	{"budget", "65Mi", "larger than the tmpfs"},
	{"buffer", "64MB", "write it like 64Mi"},
	{"buffer", "512Ki", "at least 1Mi"},
	{"buffer", "-1", "write it like 64Mi"},
	{"image", "ullage:v1", "with its registry"},
	{"image", "localhost/a b", "with its registry"},
	{"image", longValue, "with its registry"},
	{"image-pull-secrets", "one,No Name", "write it like one,other"},
	{"image-pull-secrets", "a,b,c,d,e,f,g,h,i", "at most 8"},
	{"cpu-request", "lots", "write it like 100m"},
	{"cpu-limit", "-1", "write it like 100m"},
	{"memory-request", "64m", "write it like 64Mi"},
	{"memory-limit", "64MB", "write it like 64Mi"},
	{"ephemeral-storage-limit", longValue, "write it like 64Mi"},
	{"compress", "brotli", "use zstd or none"},
	{"container", "web", "no such container"},
	{"container", "app,,", "write it like app,worker"},
	{"container", "app, app", "write it once"},
	{"container", "a,b,c,d,e,f,g,h,i", "at most 8"},
	{"dest", "/data", "write it like pvc:CLAIM"},
	{"dest", "pvc:", "write it like pvc:CLAIM"},
	{"dest", "pvc:../other", "write it like pvc:CLAIM"},
	{"dest", "pvc:a/b", "write it like pvc:CLAIM"},
	{"dest", "ephemeral:", "write it like pvc:CLAIM"},
	{"dest", "volume:", "write it like pvc:CLAIM"},
	{"dest", "volume:data/", "write it like pvc:CLAIM"},
	{"dest", "volume:data/../other", "write it like pvc:CLAIM"},
	{"dest", "volume:data//x", "write it like pvc:CLAIM"},
	{"dest", "volume:data/$(POD_NAME)", "write it like pvc:CLAIM"},
	{"dest", "ephemeral:0", "write it like pvc:CLAIM"},
	{"dest", "ephemeral:10Gi:", "write it like pvc:CLAIM"},
	{"dest", "ephemeral:10Gi:Fast Disk", "write it like pvc:CLAIM"},
	{"dest", "emptyDir:10Gi", "write it like pvc:CLAIM"},
	{"drain-timeout", "0s", "not positive"},
	{"format", "app.log=log4j", "is not a format"},
	{"format", "pattern", "for example 'app*.log=json'"},
	{"listen", "9919", "write it like :9919"},
	{"listen", ":0", "write it like :9919"},
	{"listen", ":65536", "write it like :9919"},
	{"log-format", "xml", "use text or json"},
	{"log-level", "loud", "debug, info, warn or error"},
	{"match", "app-*", "does not match the JVM's files"},
	{"match", "[", "write it like *.log*"},
	{"events", "1Ki", "it is not a size from 256Ki to 1Gi"},
	{"events", "on", "write it like 2Mi, or off"},
	{"perfdata", "memory", "use leave or off"},
	{"queue", "2Gi", "unknown annotation"},
	{"reclaim", "maybe", "use auto, punch, unlink or none"},
	{"options-variable", "JAVA OPTS", "not the name of an environment variable"},
	{"options-variable", "1A", "write it like JDK_JAVA_OPTIONS"},
	{"options-variable", "A=B", "write it like JDK_JAVA_OPTIONS"},
	{"options-variable", longValue, "not the name of an environment variable"},
	{"retain-bytes", "1Mi", "at least one segment"},
	{"scrape-annotations", "false", "use off or on"},
	{"upload-age", "-1h", "must not be negative"},
	{"sync-interval", "1 second", "write it like 500ms, 10s or 24h"},
	{"source", "/logs", "leave it out"},
	{"annotations", "/etc/passwd", "leave it out"},
	{"jvm-tmp", "/", "leave it out"},
	{"log", "gc*=off", "level off is not allowed"},
	{"log-for", "25h", "from 1s to 24h"},
	{"trigger", "boredom", "boredom"},
	{"xlog", "gcc=info", "not a log tag"},
	{"xlog", "gc=loud", "not a level"},
	{"xlog", "gc=off", "selects nothing"},
	{"xlog", "gc=info=off,gc=info", "not a level"},
	{"xlog", "gc:file=/etc/passwd", "not a tag"},
	{"xlog", "gc=info -XX:OnError=x", "not a level"},
	{"xlog", "gc=info,\n-Xmx1k", "control character"},
	{"xlog", `"gc"`, "without"},
	{"xlog", "gc,,gc", "an item is empty"},
	{"segment-byte", "32Mi", `did you mean "ullage.dev/segment-bytes"?`},
	{"sync-interval", longValue, "at most 256 are allowed"},
	{"container", longValue, "no such container"},
	{"buffer", longValue, "write it like 64Mi"},
	{"dest", longValue, "write it like pvc:CLAIM"},
	{"log", longValue, "at most 512 are allowed"},
	{"xlog", longValue, "at most 512 are allowed"},
	{"match", "\x1b[2J", "write it like *.log*"},
}

// TestBadAnnotation checks that the warning names the annotation and says how to write it, that the status on the pod
// says the same, and that the pod is otherwise unchanged.
func TestBadAnnotation(t *testing.T) {
	for _, c := range badAnnotations {
		t.Run(c.name, func(t *testing.T) {
			pod := podWith(t, map[string]string{c.name: c.value})
			cfg := testConfig()
			res := mutate(t, pod, cfg)
			checkInvariants(t, pod, res, cfg)
			text := strings.Join(res.Warnings, "\n")
			if res.Injected || res.Denied != "" || len(res.Warnings) == 0 || res.Refused != ask.BadAnnotation {
				t.Fatalf("the result is %+v, want it refused for %q with a warning, and neither injected nor denied", res, ask.BadAnnotation)
			}
			// The status on the pod says the same.
			if said := statusOf(t, pod, res); said.Refused != ask.BadAnnotation || "ullage: not injected: "+said.Errors[0] != res.Warnings[0] {
				t.Errorf("the annotation is %+v, want it refused for %q, with the error of the warning %q", said, ask.BadAnnotation, res.Warnings[0])
			}
			if !strings.Contains(text, ask.Prefix+c.name) || !strings.Contains(text, c.want) {
				t.Errorf("no %q about %s in:\n%s", c.want, c.name, text)
			}

			cfg.OnError = wish.Deny
			if res := mutate(t, pod, cfg); res.Injected || res.Denied == "" || !strings.Contains(res.Denied, ask.Prefix+c.name) {
				t.Errorf("with deny: %+v, want it denied with %q in the text, and not injected", res, ask.Prefix+c.name)
			}
		})
	}
}

// statusOf returns the status in a pod's annotation after its patch.
func statusOf(t *testing.T, pod []byte, res inject.Result) ask.Status {
	t.Helper()
	meta := applyJSON(t, pod, res.Patch).(map[string]any)["metadata"].(map[string]any)
	value, _ := meta["annotations"].(map[string]any)[ask.InjectedAnnotation].(string)
	s, err := ask.ParseStatus(value)
	if err != nil {
		t.Fatalf("the annotation is %q, want a status: %v", value, err)
	}
	return s
}

// An API server refuses a pod with more than 256 KiB of annotations. Our annotation must not push a pod over that limit.
func TestNoAnnotationIsTheLastStraw(t *testing.T) {
	const maxStatus = 24 << 10 // bytes of annotations that must be free for the status
	const maxAnnotations = pod.MaxAnnotations
	for _, c := range []struct {
		name     string
		room     int
		injected bool
		status   bool
	}{
		{"room for all", maxStatus, true, true},
		{"room for a refusal", maxStatus - 1, false, true},
		{"no room", 100, false, false},
	} {
		pod := podWith(t, map[string]string{"injected": strings.Repeat("y", 1000), "log-id": strings.Repeat("x", 8)}) // a status is replaced
		full := maxAnnotations - len(ask.InjectedAnnotation) - len(ask.WarningsAnnotation) - len(ask.Prefix+"log-id") - 8 - len("example.com/large") - c.room
		pod = []byte(strings.Replace(string(pod), `"annotations":{`, `"annotations":{"example.com/large":"`+strings.Repeat("z", full)+`",`, 1))
		res := mutate(t, pod, testConfig())
		checkInvariants(t, pod, res, testConfig())
		if res.Injected != c.injected || (len(res.Patch) > 0) != c.status || !c.injected && res.Refused != ask.BadAnnotation {
			t.Errorf("%s: injected %v, refused %q, %d operations; want injected %v, operations: %v, and refused %q if not injected",
				c.name, res.Injected, res.Refused, len(res.Patch), c.injected, c.status, ask.BadAnnotation)
		}
		total := 0
		for name, value := range applyJSON(t, pod, res.Patch).(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any) {
			total += len(name) + len(value.(string))
		}
		if total > maxAnnotations+900 { // the 1,000 bytes of the old status, less the 100 bytes of room
			t.Errorf("%s: the annotations have %d bytes, want at most %d", c.name, total, maxAnnotations+900)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
