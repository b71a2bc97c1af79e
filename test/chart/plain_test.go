package chart

import (
	"testing"
)

// plainIntro is what stands before the manifest for people without helm.
const plainIntro = `# The injector, for kubectl apply -f: what helm template makes of charts/ullage
# with its default values. Replace registry.example, twice, by the registry that
# has your images. To change anything else, use helm, or edit the settings in the
# ConfigMap here.
apiVersion: v1
kind: Namespace
metadata:
  name: ullage-system
`

// TestPlainManifest holds deploy/ullage.yaml to the chart.
func TestPlainManifest(t *testing.T) {
	text, err := runHelm(t, "template", "ullage", chartDir, "--namespace", "ullage-system", "--kube-version", kubeVersion, "--skip-tests", "--set", "registry=registry.example")
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, "../../deploy/ullage.yaml", plainIntro+text)
}
