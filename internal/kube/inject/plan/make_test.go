package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// made returns the plan for a pod with these containers and a known user.
func made(annotations map[string]string, containers ...corev1.Container) Plan {
	id := int64(1000)
	p := &pod.Pod{}
	p.Annotations = map[string]string{}
	for name, value := range annotations {
		p.Annotations[ask.Prefix+name] = value
	}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &id, RunAsGroup: &id, FSGroup: &id}
	p.Spec.Containers = containers
	cfg := wish.DefaultConfig()
	cfg.Image = "localhost/ullage:v1"
	return Make(p, "shop", wish.Read(p.Annotations, "shop", cfg), ask.Status{})
}

func namesOf(volumes []corev1.Volume) (all []string) {
	for _, v := range volumes {
		all = append(all, v.Name)
	}
	return all
}

// Two JVMs share only the volumes of the destination and of the annotations.
func TestAPlanOfTwoJVMs(t *testing.T) {
	app := corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "JDK_JAVA_OPTIONS", Value: "-Xmx1g"}}}
	p := made(map[string]string{"container": "app,worker", "dest": "pvc:logs"}, app, corev1.Container{Name: "web"}, corev1.Container{Name: "worker"})
	if got, want := namesOf(p.Volumes), []string{"ullage-logs", "ullage-tmp", "ullage-logs-2", "ullage-tmp-2", "ullage-podinfo", "ullage-dest"}; !slices.Equal(got, want) {
		t.Errorf("volumes %v, want %v", got, want)
	}
	if len(p.Sidecars) != 2 || len(p.Changes) != 2 || !p.Injected || !p.Labelled || p.Refused != "" {
		t.Fatalf(`the plan is %+v, want 2 sidecars, 2 changes, Injected true, Labelled true and Refused ""`, p)
	}
	first, second := p.Changes[0], p.Changes[1]
	if first.Container != 0 || first.Options.Index != 0 || first.Options.Old != "-Xmx1g" || !strings.HasPrefix(first.Options.Value, "-Xmx1g -Xlog:") {
		t.Errorf(`the first JVM: %+v, want Container 0, Index 0, Old "-Xmx1g" and a Value that begins with "-Xmx1g -Xlog:"`, first)
	}
	want := []corev1.VolumeMount{{Name: "ullage-logs-2", MountPath: "/var/log/jvm"}, {Name: "ullage-tmp-2", MountPath: "/tmp"}}
	if second.Container != 2 || second.Options.Index != -1 || !reflect.DeepEqual(second.Mounts, want) || second.Memory != (Memory{}) {
		t.Errorf("the second JVM: %+v, want Container 2, Index -1, the mounts %+v and no Memory", second, want)
	}
}

// A refusal changes only the annotations that report it.
func TestAPlanOfARefusal(t *testing.T) {
	taken := corev1.Container{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/log/jvm"}}}
	p := made(nil, taken)
	if p.Injected || p.Refused != ask.MountTaken || len(p.Annotations) != 2 || len(p.Warnings) != 1 {
		t.Fatalf("the plan is %+v, want it not injected, refused for %q, with 2 annotations and 1 warning", p, ask.MountTaken)
	}
	p.Annotations, p.Warnings, p.Refused = nil, nil, ""
	if !reflect.DeepEqual(p, Plan{}) {
		t.Errorf("the other fields of the plan are %+v, want zero values: a refused pod is not changed", p)
	}
}

// The status of an earlier refusal is untrusted. If it names a container twice, the container gets one sidecar.
func TestAContainerThatAStatusNamesTwiceGetsOneSidecar(t *testing.T) {
	p := &pod.Pod{}
	p.Annotations = map[string]string{ask.InjectedAnnotation: `{"refused":"options","containers":["app","app"]}`}
	p.Spec.Containers = []corev1.Container{{Name: "app"}}
	cfg := wish.DefaultConfig()
	cfg.Image = "localhost/ullage:v1"
	earlier, _ := Injected(p)
	if made := Make(p, "shop", wish.Read(p.Annotations, "shop", cfg), earlier); len(made.Sidecars) != 1 || len(made.Changes) != 1 {
		t.Errorf("the plan has %d sidecars and %d changes of containers, want one of each", len(made.Sidecars), len(made.Changes))
	}
}
