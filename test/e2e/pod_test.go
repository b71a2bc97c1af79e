package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
)

// baseline and decorations are the injector's defaults for a JVM.
const (
	baseline    = "gc*=info,safepoint=info"
	decorations = "time,uptime,level,tags"
)

// reference is the option for a second output in dir, in addition to the injected one.
func reference(dir string) string {
	return "-Xlog:" + baseline + ":file=" + dir + "/gc.log:" + decorations + ":filecount=5,filesize=0"
}

// jvmPod is a pod with one JVM in the container "app", as an author writes it: only a label and
// annotations belong to ullage. The Java programs are in test/jvm/testdata.
type jvmPod struct {
	Name        string
	JDK         int
	Java        []string          // arguments of java; default: Churn for 10 minutes, 20 MB/s
	After       string            // shell command that runs after the JVM in the same container. Empty: the JVM is process 1
	Annotations map[string]string // without "ullage.dev/"
	Labels      map[string]string
	Ref         string // claim for the reference output at /ref; empty: an emptyDir
	Memory      string // limit, default 384Mi
	Restart     string // restartPolicy, default Never
	Grace       int    // seconds; default 30
	NotInjected bool   // without the label
}

type object map[string]any

// manifest returns the pod as JSON, which is YAML.
func (p jvmPod) manifest() string { return manifest(p.object()) }

func manifest(o object) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps, strings and numbers always encode
	}
	return string(text)
}

func (p jvmPod) object() object {
	template := p.template()
	template["apiVersion"], template["kind"] = "v1", "Pod"
	template["metadata"].(object)["name"] = p.Name
	return template
}

// template returns the pod without kind and name, for a workload.
func (p jvmPod) template() object {
	labels := object{"e2e": "pod", "app": p.Name}
	if !p.NotInjected {
		labels["ullage.dev/inject"] = "true"
	}
	for key, value := range p.Labels {
		labels[key] = value
	}
	annotations := object{}
	for key, value := range p.Annotations {
		annotations["ullage.dev/"+key] = value
	}
	ref := object{"name": "ref", "emptyDir": object{}}
	if p.Ref != "" {
		ref = object{"name": "ref", "persistentVolumeClaim": object{"claimName": p.Ref}}
	}
	return object{
		"metadata": object{"labels": labels, "annotations": annotations},
		"spec": object{
			"restartPolicy":                 or(p.Restart, "Never"),
			"terminationGracePeriodSeconds": or(p.Grace, 30),
			"automountServiceAccountToken":  false,
			"enableServiceLinks":            false,
			"securityContext": object{
				"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
				"seccompProfile": object{"type": "RuntimeDefault"},
			},
			"containers": []any{p.container("app")},
			"volumes":    []any{ref},
		},
	}
}

func (p jvmPod) container(name string) object {
	return object{
		"name": name, "image": fmt.Sprintf("localhost/jdk:%d", p.JDK), "imagePullPolicy": "Never",
		"command":      p.command(),
		"resources":    object{"requests": object{"cpu": "20m", "memory": "64Mi"}, "limits": object{"memory": or(p.Memory, "384Mi")}},
		"volumeMounts": []any{object{"name": "ref", "mountPath": "/ref"}},
		"securityContext": object{
			"allowPrivilegeEscalation": false, "capabilities": object{"drop": []any{"ALL"}},
		},
	}
}

func (p jvmPod) command() []any {
	words := []any{"java", "-XX:+UseSerialGC", "-Xmx48m", reference("/ref")}
	if len(p.Java) == 0 {
		p.Java = []string{"Churn", "600000", "20"}
	}
	for _, word := range p.Java {
		words = append(words, word)
	}
	if p.After == "" {
		return words
	}
	var line strings.Builder
	for _, word := range words {
		fmt.Fprintf(&line, "'%s' ", word)
	}
	return []any{"sh", "-c", line.String() + "; " + p.After}
}

// or returns value, or otherwise if value is zero.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
