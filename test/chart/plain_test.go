package chart

import (
	"testing"
)

// plainIntro is what stands before the manifest for people without helm.
const plainIntro = `# The injector, for kubectl apply -f: what helm template makes of charts/ullage
# with its default values. To change anything, use helm, or edit the images and
# the settings in the ConfigMap here.
apiVersion: v1
kind: Namespace
metadata:
  name: ullage-system
`

// TestPlainManifest holds deploy/ullage.yaml to the chart.
func TestPlainManifest(t *testing.T) {
	text, err := runHelm(t, "template", "ullage", chartDir, "--namespace", "ullage-system", "--kube-version", kubeVersion, "--skip-tests")
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, "../../deploy/ullage.yaml", plainIntro+text)
}
