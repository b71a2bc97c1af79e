package inject_test

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// The pod also has its status as readable text, which kubectl describe shows. The text of another pod,
// copied with its manifest, is replaced.
func TestThePodSaysInFullWhatToWrite(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"injected":       {"dest": "emptyDir"},
		"refused":        {"bufer": "64Mi"},
		"of another pod": {"warnings": "of another pod"},
		"nothing to say": {"warnings": "of another pod", "dest": "pvc:logs"},
	} {
		pod := podWith(t, annotations)
		if name == "nothing to say" {
			pod = []byte(strings.Replace(string(pod), `"spec":{`, `"spec":{"securityContext":{"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000},`, 1))
		}
		res := mutate(t, pod, testConfig())
		meta := applyJSON(t, pod, res.Patch).(map[string]any)["metadata"].(map[string]any)
		got, _ := meta["annotations"].(map[string]any)[ask.WarningsAnnotation].(string)
		if want := statusOf(t, pod, res).Text(); got != want || (want == "") != (name == "nothing to say") {
			t.Errorf("%s: the pod says %q, want %q", name, got, want)
		}
	}
}
