package chart

import (
	"strings"
	"testing"
)

// plainIntro is the text before the manifest for users without helm.
const plainIntro = `# The injector, for kubectl apply -f: the output of helm template for charts/ullage
# with its default values. In two places, replace registry.example with the registry
# that has your images. To change anything else, use helm, or edit the settings in the
# ConfigMap here. Helm adopts what was applied: helm install ullage charts/ullage
# --namespace ullage-system --set registry=NAME takes it over.
apiVersion: v1
kind: Namespace
metadata:
  name: ullage-system
`

// adoptable is the metadata that helm requires on an object that it did not create itself, in addition to the label
// app.kubernetes.io/managed-by: Helm.
const adoptable = "metadata:\n  annotations:\n    meta.helm.sh/release-name: ullage\n    meta.helm.sh/release-namespace: ullage-system\n"

// TestPlainManifest compares deploy/ullage.yaml with the chart.
func TestPlainManifest(t *testing.T) {
	text, err := runHelm(t, "template", "ullage", chartDir, "--namespace", "ullage-system", "--kube-version", kubeVersion, "--no-hooks", "--set", "registry=registry.example")
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.Contains(document, "\n  annotations:\n") {
			t.Fatalf("an object already has annotations, want none; if it needs some, add helm's annotations to them in this test:\n%s", document)
		}
		if !strings.Contains(document, "app.kubernetes.io/managed-by: Helm") {
			t.Errorf("helm would not adopt this object, want \"app.kubernetes.io/managed-by: Helm\" in it\n%s", document)
		}
		documents = append(documents, strings.Replace(document, "metadata:\n", adoptable, 1))
	}
	checkFile(t, "../../deploy/ullage.yaml", plainIntro+strings.Join(documents, "\n---\n"))
}
