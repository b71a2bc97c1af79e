package plan

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// TestDollarIsNotExpanded checks that dollars are escaped, because the kubelet expands $(NAME) in values of variables.
func TestDollarIsNotExpanded(t *testing.T) {
	w := wish.Read(map[string]string{ask.Prefix + "match": "*$(HOME)", ask.Prefix + "dest": "pvc:logs"}, "shop", wish.Config{})
	if len(w.Problems) != 1 { // the problem is that the pattern does not match the JVM's files
		t.Fatalf("the problems are %q, want one", w.Problems)
	}
	env := environment(&jvm{wishes: &w, Container: &pod.Container{Container: &corev1.Container{Name: "app"}}})
	if !slices.Contains(env, corev1.EnvVar{Name: "ULLAGE_MATCH", Value: "*$$(HOME)"}) {
		t.Errorf("the environment is %+v, want ULLAGE_MATCH with the value *$$(HOME) in it", env)
	}
}
