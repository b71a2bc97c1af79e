package inject_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/kube/inject"
)

// BenchmarkMutate makes the patch of each pod in testdata, in turn.
func BenchmarkMutate(b *testing.B) {
	files, err := filepath.Glob("testdata/*.pod.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var pods [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		pod, err := yaml.YAMLToJSON(text)
		if err != nil {
			b.Fatal(err)
		}
		pods = append(pods, pod)
	}
	cfg := testConfig()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := inject.Mutate(pods[i%len(pods)], "shop", cfg); err != nil {
			b.Fatal(err)
		}
	}
}
