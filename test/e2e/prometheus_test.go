package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scraping is the usual configuration for pods with annotations, except that Prometheus gets the pods from a
// file: see discover.
const scraping = `
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: pods
    file_sd_configs:
      - files: [/etc/prometheus/pods.json]
    relabel_configs:
      - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape]
        regex: "true"
        action: keep
      - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_path]
        regex: (.+)
        target_label: __metrics_path__
      - source_labels: [__address__, __meta_kubernetes_pod_annotation_prometheus_io_port]
        regex: ([^:]+)(?::\d+)?;(\d+)
        replacement: $1:$2
        target_label: __address__
      - source_labels: [__meta_kubernetes_pod_name]
        target_label: pod
`

// A Prometheus that has no configuration for ullage finds a sidecar once, through the annotations that the injector
// has written.
func TestPrometheusScrapesByThePodsAnnotations(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(jvmPod{Name: "app", JDK: 25, Java: []string{"Churn", "600000", "60"}}.manifest())
	s.apply(jvmPod{Name: "other", JDK: 25, NotInjected: true}.manifest())
	s.ready("app")
	s.ready("other")
	prometheus(s, scraping, discover(s))

	const lines = `sum(ullage_persisted_lines_total{pod="app"})`
	var first, now float64
	s.eventually(time.Minute, "Prometheus has persisted lines", func() bool {
		first = query(s, lines)
		return first > 0
	})
	s.eventually(time.Minute, "Prometheus has more persisted lines", func() bool {
		now = query(s, lines)
		return now > first
	})
	t.Logf("Prometheus has seen %v persisted lines, and then %v", first, now)
	// A target is not up if its scrape took longer than the allowed second.
	s.eventually(time.Minute, "the pod is up", func() bool { return query(s, `min(up{pod="app"})`) == 1 })
	if n := query(s, `count(up)`); n != 1 {
		t.Errorf("%v addresses are scraped, want 1", n)
	}
}

// The job in the documentation finds every sidecar once, in a pod with two JVMs and in a pod with its own metrics.
func TestPrometheusScrapesByTheNameOfThePort(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	job := regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```").FindSubmatch(page)
	if job == nil {
		t.Fatal("docs/monitoring.md has no scrape_configs")
	}
	s := newSpace(t)
	two := jvmPod{Name: "two", JDK: 17, Annotations: map[string]string{"container": "a,b"}}
	pod := two.object()
	pod["spec"].(object)["containers"] = []any{inItsOwn(two.container("a")), inItsOwn(two.container("b"))}
	s.apply(manifest(pod))
	own := jvmPod{Name: "own", JDK: 25, Annotations: map[string]string{"scrape-annotations": "off"}}.object()
	own["metadata"].(object)["annotations"].(object)["prometheus.io/scrape"] = "true"
	own["metadata"].(object)["annotations"].(object)["prometheus.io/port"] = "8080"
	s.apply(manifest(own))
	s.apply(jvmPod{Name: "other", JDK: 25, NotInjected: true}.manifest())
	for _, name := range []string{"two", "own", "other"} {
		s.ready(name)
	}
	// As in the job, the API server selects the pods by the label.
	found := regexp.MustCompile(`kubernetes_sd_configs:\n +- role: pod\n +selectors: \[\{role: pod, label: (\S+)\}\]`).FindStringSubmatch(string(job[1]))
	if found == nil {
		t.Fatalf("the job selects no pods by a label:\n%s", job[1])
	}
	config := strings.Replace(string(job[1]), found[0], "file_sd_configs:\n      - files: [/etc/prometheus/pods.json]", 1)
	prometheus(s, "global:\n  scrape_interval: 1s\n"+config, discover(s, "--selector", found[1]))
	for _, sidecar := range []string{`pod="two",container="ullage"`, `pod="two",container="ullage-2"`, `pod="own",container="ullage"`} {
		s.eventually(time.Minute, "persisted lines of "+sidecar, func() bool { return query(s, `sum(ullage_persisted_lines_total{`+sidecar+`})`) > 0 })
	}
	if n := query(s, `count(up)`); n != 3 {
		t.Errorf("%v addresses are scraped, want 3", n)
	}
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// discover returns the pods of the namespace, or a selection of them, as Prometheus' kubernetes_sd would: Debian's
// Prometheus lacks it. There is a target for each port of each container, or one target for a container without ports.
func discover(s *space, which ...string) string {
	s.Helper()
	type containers []struct {
		Name  string
		Ports []struct {
			Name          string
			ContainerPort int
		}
	}
	var pods struct {
		Items []struct {
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
			Spec   struct{ Containers, InitContainers containers }
			Status struct{ PodIP string }
		}
	}
	if err := json.Unmarshal([]byte(s.kubectl(append([]string{"get", "pods", "-o", "json"}, which...)...)), &pods); err != nil {
		s.Fatalf("read pods: %v", err)
	}
	groups := []any{}
	for _, pod := range pods.Items {
		labels := object{"__meta_kubernetes_pod_name": pod.Metadata.Name}
		for name, value := range pod.Metadata.Annotations {
			labels["__meta_kubernetes_pod_annotation_"+notInLabels.ReplaceAllString(name, "_")] = value
		}
		for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			if len(c.Ports) == 0 {
				groups = append(groups, object{"targets": []any{pod.Status.PodIP}, "labels": labels})
			}
			for _, port := range c.Ports {
				at := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port.ContainerPort))
				of := maps.Clone(labels)
				of["__meta_kubernetes_pod_container_name"], of["__meta_kubernetes_pod_container_port_name"] = c.Name, port.Name
				groups = append(groups, object{"targets": []any{at}, "labels": of})
			}
		}
	}
	text, err := json.Marshal(groups)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// prometheus starts a Prometheus with a configuration and targets.
func prometheus(s *space, config, targets string) {
	s.Helper()
	s.apply(manifest(object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "prometheus"},
		"data": object{"prometheus.yml": config, "pods.json": targets},
	}))
	s.apply(manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "prometheus", "labels": object{"e2e": "pod"}},
		"spec": object{
			"automountServiceAccountToken":  false,
			"terminationGracePeriodSeconds": 1,
			"containers": []any{object{
				"name": "prometheus", "image": "localhost/prometheus:e2e", "imagePullPolicy": "Never",
				"command":        []any{"prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data", "--log.level=warn"},
				"readinessProbe": object{"httpGet": object{"path": "/-/ready", "port": 9090}, "periodSeconds": 1},
				"resources":      object{"requests": object{"cpu": "20m", "memory": "64Mi"}, "limits": object{"memory": "256Mi"}},
				"volumeMounts":   []any{object{"name": "config", "mountPath": "/etc/prometheus"}, object{"name": "data", "mountPath": "/data"}},
			}},
			"volumes": []any{
				object{"name": "config", "configMap": object{"name": "prometheus"}},
				object{"name": "data", "emptyDir": object{}},
			},
		},
	}))
	s.ready("prometheus")
}

// query queries the Prometheus of the namespace through the API server. It returns 0 for an unknown
// series.
func query(s *space, expression string) float64 {
	s.Helper()
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/prometheus:9090/proxy/api/v1/query?query=%s", s.name, url.QueryEscape(expression))
	text := s.must(kubectl("", "get", "--raw", path))
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		s.Fatalf("query Prometheus: %v: %s", err, text)
	}
	if len(answer.Data.Result) == 0 {
		return 0
	}
	value, err := strconv.ParseFloat(fmt.Sprint(answer.Data.Result[0].Value[1]), 64)
	if err != nil {
		s.Fatalf("query Prometheus: %v: %s", err, text)
	}
	return value
}
