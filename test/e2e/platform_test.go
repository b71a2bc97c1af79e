package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// platformValues are the settings that the administrator of a platform adds to the command that installs the chart,
// for [platform].
const platformValues = " --set events.enabled=true --set 'policy.env={SSL_CERT_FILE}' --set 'policy.containerPatch={volumeMounts}'"

// platform is a namespace with features that clusters in production have: an autoscaler, a pod of QoS class
// Guaranteed whose first container belongs to a mesh, a pod whose user is set only in the image and whose heap
// takes most of the limit, an S3 server whose certificate only the system's store trusts, and people on call with
// the rights of deploy/oncall.yaml.
type platform struct {
	*space
	bucket string // URL of the sink
	onCall func(args ...string) string
	env    []string // the environment of onCall's commands
}

// works fails the test unless everything on the platform works, or the pod's warnings say what to
// set.
func (p *platform) works() {
	p.Helper()
	var ca string
	p.bucket, ca = serveBucket(p.space, "https")
	authority, err := os.ReadFile(ca)
	p.must("", err)
	p.apply(manifest(object{"apiVersion": "v1", "kind": "List", "items": []any{
		object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "store"}, "data": object{"ca-certificates.crt": string(authority)}},
		object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "bucket"}, "stringData": object{
			"AWS_ACCESS_KEY_ID": bucketKey, "AWS_SECRET_ACCESS_KEY": bucketKey, "store.crt": string(authority),
		}},
		p.guaranteed(), p.loose(), p.misspelt(),
	}}))
	p.apply(p.autoscaler())
	p.bindOnCall()
	web, loose := p.rolledOut("web"), p.rolledOut("loose")
	p.checkGuaranteed(web)
	p.checkEvents()
	p.checkBucket(web)
	p.checkBucket(loose)
	p.checkLoose(loose)
	p.checkAutoscaler()
	p.checkOnCall()
}

// deployment returns a Deployment whose JVM sends its log to the bucket.
func (p *platform) deployment(jvm jvmPod) (deployment, spec object) {
	jvm.JDK, jvm.Grace = 25, 1
	if jvm.Annotations == nil {
		jvm.Annotations = map[string]string{}
	}
	jvm.Annotations["sink"], jvm.Annotations["sink-secret"], jvm.Annotations["upload-age"] = p.bucket, "bucket", "2s"
	deployment = workload("Deployment", jvm, "")
	spec = deployment["spec"].(object)["template"].(object)["spec"].(object)
	app := spec["containers"].([]any)[0].(object)
	// doctor reports a second log, on a disk, as a problem.
	app["command"] = slices.DeleteFunc(app["command"].([]any), func(word any) bool { return word == reference("/ref") })
	return deployment, spec
}

// guaranteed returns a Deployment of QoS class Guaranteed whose first container belongs to a mesh.
// Its sidecar finds the system's store at Debian's path.
func (p *platform) guaranteed() object {
	deployment, spec := p.deployment(jvmPod{Name: "web", Annotations: map[string]string{
		"container-patch": `{"volumeMounts":[{"name":"store","mountPath":"/etc/ssl/certs","readOnly":true}]}`,
	}})
	spec["volumes"] = append(spec["volumes"].([]any), object{"name": "store", "configMap": object{"name": "store"}})
	app := spec["containers"].([]any)[0].(object)
	exactly := func(cpu, memory string) object {
		amounts := object{"cpu": cpu, "memory": memory}
		return object{"requests": amounts, "limits": amounts}
	}
	app["resources"] = exactly("200m", "384Mi")
	spec["containers"] = []any{object{
		"name": "istio-proxy", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": []any{"sleep", "3600"},
		"resources": exactly("20m", "16Mi"), "securityContext": app["securityContext"],
	}, app}
	return deployment
}

// loose returns a Deployment whose user is set only in the image, and whose heap may take 80 % of
// the memory limit. Its sidecar finds the system's store through a variable.
func (p *platform) loose() object {
	deployment, spec := p.deployment(jvmPod{Name: "loose", Annotations: map[string]string{"env": "SSL_CERT_FILE=/etc/ullage-sinks/store.crt"}})
	user := spec["securityContext"].(object)
	delete(user, "runAsUser")
	delete(user, "runAsGroup")
	command := spec["containers"].([]any)[0].(object)["command"].([]any)
	command[slices.Index(command, any("-Xmx48m"))] = "-XX:MaxRAMPercentage=80"
	return deployment
}

// misspelt returns a Deployment whose pod gets no sidecar and only sleeps.
func (p *platform) misspelt() object {
	deployment, spec := p.deployment(jvmPod{Name: "misspelt", Annotations: map[string]string{"bufer": "64Mi"}})
	app := spec["containers"].([]any)[0].(object)
	app["image"], app["command"] = "localhost/tools:e2e", []any{"sleep", "3600"}
	return deployment
}

// autoscaler returns the example in docs/pods.md.
func (p *platform) autoscaler() string {
	p.Helper()
	docs, err := os.ReadFile("../../docs/pods.md")
	p.must("", err)
	example := regexp.MustCompile("(?s)```yaml\n([^`]*\nkind: HorizontalPodAutoscaler\n.*?)```").FindSubmatch(docs)
	if example == nil {
		p.Fatal("docs/pods.md has no example of a HorizontalPodAutoscaler")
	}
	return string(example[1])
}

// rolledOut waits for a Deployment and returns its first pod.
func (p *platform) rolledOut(name string) string {
	p.Helper()
	p.kubectl("rollout", "status", "deployment/"+name, "--timeout=2m")
	return strings.Fields(p.kubectl("get", "pods", "-l", "app="+name, "--sort-by=.metadata.creationTimestamp", "-o", "jsonpath={.items[*].metadata.name}"))[0]
}

func (p *platform) checkGuaranteed(pod string) {
	p.Helper()
	if got := containersOf(p.space, pod); got != "istio-proxy app ullage" {
		p.Errorf("the pod has the containers %q, want istio-proxy, app and ullage", got)
	}
	if got := p.field("pod/"+pod, ".status.qosClass} {.spec.containers[*].resources.requests.cpu} {.spec.initContainers[*].resources.requests.cpu"); got != "Guaranteed 20m 200m 50m" {
		p.Errorf("the pod's QoS class and the CPU requests of its containers are %q, want Guaranteed 20m 200m 50m", got)
	}
	if said := p.field("pod/"+pod, `.metadata.annotations.ullage\.dev/injected`); !strings.Contains(said, `"jvms":[{"container":"app"`) {
		p.Errorf("want the JVM in container app, got %s", said)
	}
	p.says(pod, "an HPA on the pod's CPU utilization sees at most 81 %, because the sidecar adds 50m to the requests and the pod is of QoS class Guaranteed: use a metric of type ContainerResource")
}

// checkEvents waits for the Events on the pods' controllers. The injector needs rights in this namespace to create
// them.
func (p *platform) checkEvents() {
	p.Helper()
	for app, want := range map[string]string{
		"web": `Normal +Injected .*a pod got the log sidecar`, "loose": `Normal +Injected .*-XX:MaxRAMPercentage=80`,
		"misspelt": `Warning +NotInjected .*did you mean "ullage.dev/buffer"\?`,
	} {
		said := regexp.MustCompile(want)
		p.eventually(time.Minute, "the Events of the ReplicaSet of "+app+" have: "+want, func() bool {
			return said.MatchString(p.kubectl("describe", "replicasets", "-l", "app="+app))
		})
	}
	p.kubectl("delete", "deployment", "misspelt", "--wait=false")
}

// checkBucket waits until the sidecar of a pod reads its own log back from the bucket.
func (p *platform) checkBucket(pod string) {
	p.Helper()
	var out string
	var err error
	if wait(time.Minute, func() bool {
		out, err = p.tryExec(pod, "ullage", "ullage", "logs", p.bucket+"&pod="+pod)
		return err == nil && strings.Contains(out, "Pause")
	}) != nil {
		status, _ := p.tryExec(pod, "ullage", "ullage", "status")
		p.Errorf("the log of %s is not in the bucket: %v\n%s\n%s", pod, err, out, status)
	}
}

// checkLoose requires that the pod's warnings say what to set, sets that, and requires that the warnings are
// gone.
func (p *platform) checkLoose(pod string) {
	p.Helper()
	const (
		user    = `the user of container "app" is not known`
		heap    = `heap 308 MiB (-XX:MaxRAMPercentage=80)`
		numbers = `the JVM runs as user 1000: set runAsUser: 1000` // its group is unknown: its log has the volume's
	)
	p.says(pod, user, "write securityContext: {runAsUser: UID, runAsGroup: GID} into the pod's spec", heap, `set ullage.dev/raise-memory-limit: "true"`)
	if status := p.exec(pod, "ullage", "ullage", "status"); !strings.Contains(status, numbers) {
		p.Errorf("ullage status does not say %q:\n%s", numbers, status)
	}
	p.kubectl("patch", "deployment", "loose", "--patch", `{"spec":{"template":{"metadata":{"annotations":{"ullage.dev/raise-memory-limit":"true"}},"spec":{"securityContext":{"runAsUser":1000,"runAsGroup":1000}}}}}`)
	p.kubectl("rollout", "status", "deployment/loose", "--timeout=2m")
	pods := strings.Fields(p.kubectl("get", "pods", "-l", "app=loose", "--sort-by=.metadata.creationTimestamp", "-o", "jsonpath={.items[*].metadata.name}"))
	pod = pods[len(pods)-1]
	for _, settled := range []string{user, heap} {
		if described := p.described(pod); strings.Contains(described, settled) {
			p.Errorf("the advice was followed, but the pod still says %q:\n%s", settled, described)
		}
	}
	if limit := p.field("pod/"+pod, `.spec.containers[0].resources.limits.memory`); limit != "448Mi" {
		p.Errorf("the memory limit is %s, want 384Mi and the buffer", limit)
	}
	matches(p.T, "levels deploy/loose", p.onCall("levels", "deploy/loose", raise, "--for", "10m"), `pid \d+: gc\*=debug in addition to its own`, `(?m)^raised: `)
}

// says fails the test unless kubectl describe pod shows all texts.
func (p *platform) says(pod string, texts ...string) {
	p.Helper()
	described := p.described(pod)
	for _, text := range texts {
		if !strings.Contains(described, text) {
			p.Errorf("kubectl describe pod does not show %q:\n%s", text, p.kubectl("describe", "pod", pod))
		}
	}
}

// described returns the output of kubectl describe pod, with each run of white space as one space.
func (p *platform) described(pod string) string {
	p.Helper()
	return strings.Join(strings.Fields(p.kubectl("describe", "pod", pod)), " ")
}

// bindOnCall gives a group the rights of deploy/oncall.yaml in the namespace, with the commands in the docs, and
// runs the plugin as a user of that group.
func (p *platform) bindOnCall() {
	p.Helper()
	const cluster = "ullage-oncall-cluster"
	p.kubectl("apply", "-f", "../../deploy/oncall.yaml")
	p.kubectl("create", "rolebinding", "ullage-oncall", "--clusterrole=ullage-oncall", "--group=oncall")
	p.must(kubectl("", "delete", "clusterrolebinding", cluster, "--ignore-not-found")) // left by an earlier run
	p.must(kubectl("", "create", "clusterrolebinding", cluster, "--clusterrole="+cluster, "--group=oncall"))
	p.Cleanup(func() {
		_, _ = kubectl("", "delete", "clusterrolebinding", cluster)
		_, _ = kubectl("", "delete", "-f", "../../deploy/oncall.yaml")
	})
	var config struct {
		object
		Users []struct {
			Name string `json:"name"`
			User object `json:"user"`
		} `json:"users"`
	}
	text := p.must(kubectl("", "config", "view", "--raw", "--flatten", "--minify", "-o", "json"))
	p.must("", json.Unmarshal([]byte(text), &config.object))
	p.must("", json.Unmarshal([]byte(text), &config))
	for i := range config.Users {
		config.Users[i].User["as"], config.Users[i].User["as-groups"] = "somebody", []any{"oncall"}
	}
	config.object["users"] = config.Users
	file := filepath.Join(p.TempDir(), "kubeconfig")
	p.must("", os.WriteFile(file, []byte(manifest(config.object)), 0o600))
	p.env = append(pluginSettings(), "KUBECONFIG="+file)
	p.onCall = plugin(p.space, p.env)
}

// checkOnCall uses the plugin as a user on call, with a workload as the target.
func (p *platform) checkOnCall() {
	p.Helper()
	if _, _, err := command("", "env", append(p.env, "kubectl", "-n", system, "get", "pods")...); err == nil || !strings.Contains(err.Error(), `User "somebody" cannot list resource "pods"`) {
		p.Errorf("people on call have rights that deploy/oncall.yaml does not grant: %v", err)
	}
	matches(p.T, "status", p.onCall("status", "deploy/web"), `(?m)^web-\S+ +yes `)
	matches(p.T, "top", p.onCall("top", "deploy/web"), `(?m)^web-\S+ +\d+% `)
	matches(p.T, "doctor", p.onCall("doctor", "deploy/web"), `(?m)^ok +`)
	matches(p.T, "logs", p.onCall("logs", "deploy/web"), `Pause Young`)
	report := filepath.Join(p.TempDir(), "report.html")
	p.onCall("report", "deploy/web", "--output", report)
	page, err := os.ReadFile(report)
	matches(p.T, "report", p.must(string(page), err), `^<!doctype html>`, `web-`)
	files, _ := anIncident(p.space, p.env, "deploy/web", []string{bucketKey})
	matches(p.T, "incident", files["index.html"], `Complete: every line`)
	live, recent := livePage(p.space, p.env, "deploy/web")
	matches(p.T, "open", live, `^<!doctype html>`)
	matches(p.T, "open, recent", recent, `"name": "\w+ young`)
	matches(p.T, "levels", p.onCall("levels", "deploy/web", raise, "--for", "10m"), `pid \d+: gc\*=debug in addition to its own`, `(?m)^raised: `)
}

// checkAutoscaler waits until the autoscaler has scaled out the Deployment and the new pod has a sidecar too.
func (p *platform) checkAutoscaler() {
	p.Helper()
	p.eventually(time.Minute, "two injected pods of web", func() bool {
		return strings.Count(p.kubectl("get", "pods", "-l", "app=web,ullage.dev/injected=true", "-o", "name"), "pod/") == 2
	})
	p.rolledOut("web")
}
