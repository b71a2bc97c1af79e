package webhook

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The controller that creates a Deployment's pod does not show the warnings. So they are logged, with the name of the
// Deployment.
func TestTheLogSaysWhyAPodHasNoSidecar(t *testing.T) {
	const replicaSet = `"metadata":{"generateName":"web-5f7-","labels":{"pod-template-hash":"5f7"},` +
		`"ownerReferences":[{"apiVersion":"x","kind":"Other","name":"no"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5f7","uid":"1","controller":true}],"name":`
	for _, c := range []struct {
		name, text, line string
		reasons          float64 // counted as "annotation"
	}{
		{"a Deployment's pod", body("refused", `"metadata":{"name":`, replicaSet),
			`level=WARN msg="not injected" namespace=shop pod=refused owner=deployment/web dry_run=false reason=annotation error="not injected: ullage.dev/bufer: unknown"`, 1},
		{"a StatefulSet's pod", body("refused", `"metadata":{"name":`, strings.Replace(replicaSet, "ReplicaSet", "StatefulSet", 1)), "owner=statefulset/web-5f7 ", 1},
		{"a ReplicaSet's pod", body("refused", `"metadata":{"name":`, strings.Replace(replicaSet, "pod-template-hash", "app", 1)), "owner=replicaset/web-5f7 ", 1},
		{"a bare pod", body("refused"), `pod=refused owner="" `, 1},
		{"a dry run", body("refused", `"dryRun":false`, `"dryRun":true`), "dry_run=true", 0},
		{"a pod that is denied", body("denied"), `level=WARN msg=denied namespace=shop pod=denied owner="" dry_run=false reason=annotation error="annotation ullage.dev/buffer is bad"`, 1},
		{"a pod that is injected with warnings", body("web"), `level=WARN msg="injected with warnings" namespace=shop pod=web owner="" dry_run=false operations=1 warnings="dest is emptyDir in shop"`, 0},
		{"a pod that is injected", body("clean"), `level=INFO msg=injected namespace=shop pod=clean owner="" dry_run=false operations=1`, 0},
		{"an owner that breaks lines", body("refused", `"metadata":{"name":`, strings.Replace(replicaSet, `"web-5f7"`, `"web\n-x"`, 1)), `owner="replicaset/web -x"`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, log, _ := testHandler(false)
			parsed(t, post(h, c.text))
			if got := log.String(); !strings.Contains(got, c.line) || strings.Count(got, "\n") != 1 {
				t.Errorf("the log is\n%s\nwant one line, with %s in it", got, c.line)
			}
			if n := testutil.ToFloat64(h.metrics.refusals.WithLabelValues("annotation")); n != c.reasons {
				t.Errorf("%v refusals counted, want %v", n, c.reasons)
			}
		})
	}
}
