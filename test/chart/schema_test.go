package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestBadValuesAreRefused(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"unknown key", "replica: 3", "replica"},
		{"unknown key below", "sidecar: {image: {name: x}}", "name"},
		{"unknown setting", "sidecar: {defaults: {segment-byte: 32Mi}}", "segment-byte"},
		{"setting that the injector owns", "sidecar: {defaults: {source: /tmp}}", "source"},
		{"setting that is not a text", "sidecar: {defaults: {retain-age: 0}}", "string"},
		{"number as text", "replicas: two", "replicas"},
		{"part of a replica", "replicas: 1.5", "replicas"},
		{"switch as text", "podMonitor: {enabled: 'yes'}", "boolean"},
		{"unknown policy", "onError: ignore", "onError"},
		{"unknown log level", "logLevel: trace", "logLevel"},
		{"list for a map", "nodeSelector: [linux]", "nodeSelector"},
		{"invalid quantity", "resources: {limits: {memory: 64MB}}", "memory"},
		{"negative quantity", "resources: {limits: {memory: -1}}", "memory"},
		{"quantity without digits", "resources: {limits: {memory: .}}", "memory"},
		{"resource that no sidecar takes", "sidecar: {resources: {limits: {nvidia.com/gpu: 1}}}", "nvidia.com/gpu"},
		{"setting of single pods", "sidecar: {defaults: {container: app}}", "container"},
		{"tag with a space", "image: {tag: 'v1 '}", "tag"},
		{"invalid digest", "image: {digest: latest}", "digest"},
		{"repository with a command", "image: {repository: 'a b'}", "repository"},
		{"invalid port", "networkPolicy: {apiServerPorts: [0]}", "apiServerPorts"},
		{"no port", "networkPolicy: {apiServerPorts: []}", "apiServerPorts"},
		{"lifetime without a unit", "certificates: {lifetime: '90'}", "lifetime"},
		{"lifetime in days", "certificates: {lifetime: 90d}", "lifetime"},
		{"Secret without its CA", "certificates: {secretName: mine}", "caBundle is missing"},
		{"CA that is no PEM", "certificates: {secretName: mine, caBundle: TUlJ}", "caBundle"},
		{"CA without a Secret", "certificates: {caBundle: '-----BEGIN CERTIFICATE-----'}", "name its Secret"},
		{"two kinds of certificates", "certificates: {secretName: mine, certManager: {enabled: true}}", "choose one"},
		{"issuer without cert-manager", "certificates: {certManager: {issuerRef: {name: ca}}}", "no effect"},
		{"issuer without a name", "certificates: {certManager: {enabled: true, issuerRef: {kind: ClusterIssuer}}}", "has no name"},
		{"test in kube-system", "test: {namespace: kube-system}", "no pod in kube-system"},
		{"test beside the injector", "test: {namespace: ullage-system}", "no pod in ullage-system"},
		{"claim for all pods", "sidecar: {defaults: {dest: pvc:logs}}", "without the claim would never start"},
		{"claim to prune without a user", "prune: [{namespace: a, claim: b}]", "runAsUser"},
		{"claim to prune as root", "prune: [{namespace: a, claim: b, runAsUser: 0, runAsGroup: 1}]", "runAsUser"},
		{"invalid age", "prune: [{namespace: a, claim: b, runAsUser: 1, runAsGroup: 1, olderThan: 7w}]", "olderThan"},
		{"age of zero", "prune: [{namespace: a, claim: b, runAsUser: 1, runAsGroup: 1, olderThan: 0h}]", "olderThan"},
		{"age in minutes", "prune: [{namespace: a, claim: b, runAsUser: 1, runAsGroup: 1, olderThan: 5m}]", "olderThan"},
		{"invalid schedule", "prune: [{namespace: a, claim: b, runAsUser: 1, runAsGroup: 1, schedule: daily}]", "schedule"},
		{"port of the metrics", "webhook: {port: 9919}", "port"},
		{"port of the kubelet", "webhook: {port: 10250, hostNetwork: true}", "10250 is a port of the kubelet"},
		{"port of kube-proxy", "webhook: {port: 10256, hostNetwork: true}", "10256 is a port of the kubelet or kube-proxy"},
		{"timeout of a minute", "webhook: {timeoutSeconds: 60}", "timeoutSeconds"},
		{"unknown failure policy", "webhook: {failurePolicy: Deny}", "failurePolicy"},
		{"invalid selector", "webhook: {objectSelector: [{key: a, operator: Is}]}", "operator"},
		{"setting that no namespace takes", "sidecar: {namespaces: {shop: {imagee: localhost/x}}}", "imagee"},
		{"setting of containers for all", "sidecar: {defaults: {image: localhost/x}}", "image"},
		{"invalid namespace", "sidecar: {namespaces: {No Name: {}}}", "No Name"},
		{"label of the chart", "podLabels: {app.kubernetes.io/name: web}", "podLabels: the label app.kubernetes.io/name is the chart's own"},
		{"common label of the chart", "commonLabels: {app.kubernetes.io/instance: web}", "commonLabels: the label app.kubernetes.io/instance"},
		{"label of the chart on a monitor", "podMonitor: {enabled: true, labels: {helm.sh/chart: web}}", "podMonitor.labels: the label helm.sh/chart"},
		{"account without a name", "serviceAccount: {create: false}", "serviceAccount.name is missing"},
		{"invalid budget", "podDisruptionBudget: {maxUnavailable: half}", "maxUnavailable"},
		{"probe of another kind", "livenessProbe: {exec: {command: [true]}}", "exec"},
		{"unknown strategy", "strategy: {type: BlueGreen}", "type"},
		{"directory to prune above the claim", "prune: [{namespace: a, claim: b, runAsUser: 1, runAsGroup: 1, dir: ../c}]", "dir"},
		{"argument that is no flag", "extraArgs: [serve]", "extraArgs"},
		{"alert that does not exist", "rules: {enabled: true, without: [UllageNothing]}", "there is no alert UllageNothing; there are"},
		{"objective of no time", "rules: {pauseSeconds: 0}", "pauseSeconds"},
		{"interval without a unit", "podMonitor: {enabled: true, interval: '30'}", "interval"},
		{"section taken away", "certificates: null", "certificates"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, c.values)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("values %s: error %v, want one with %q", c.values, err, c.want)
			}
		})
	}
}

// With a network of its own, the injector may use the kubelet's port.
func TestThePortThatAPrivateControlPlaneReaches(t *testing.T) {
	if _, err := template(t, "webhook: {port: 10250}"); err != nil {
		t.Error(err)
	}
}

func TestValuesOfAParentChartAreTaken(t *testing.T) {
	if _, err := template(t, "global: {registry: example}"); err != nil {
		t.Error(err)
	}
}

// schema has those parts of JSON schema that the chart's schema uses.
type schema struct {
	Ref           string            `json:"$ref"`
	Type          any               `json:"type"`
	Properties    map[string]schema `json:"properties"`
	Additional    json.RawMessage   `json:"additionalProperties"`
	PropertyNames *schema           `json:"propertyNames"`
	Items         *schema           `json:"items"`
	Definitions   map[string]schema `json:"definitions"`
	Enum          []string          `json:"enum"`
}

func readSchema(t *testing.T) schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// readValues reads values.yaml.
func readValues(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// resolve follows a reference to a definition.
func (s schema) resolve(root schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return s
}

// freeForm are the objects whose keys the user chooses.
var freeForm = []string{
	"commonLabels", "service.annotations", "topologySpreadConstraints[]", "podSecurityContext", "securityContext",
	"sidecar.namespaces",
	"affinity", "extraEnv[]", "policy.max", "podAnnotations", "podLabels", "serviceAccount.annotations", "webhook.annotations",
	"global", "sidecar.defaults", "nodeSelector", "podMonitor.labels", "serviceMonitor.labels", "dashboard.labels", "dashboard.annotations", "rules.labels", "rules.alertLabels",
	"resources.requests", "resources.limits",
	"networkPolicy.metricsFrom[].podSelector", "networkPolicy.metricsFrom[].namespaceSelector", "networkPolicy.metricsFrom[].ipBlock",
}

func TestTheSchemaRefusesUnknownKeysEverywhere(t *testing.T) {
	root := readSchema(t)
	var seen []string
	var walk func(path string, s schema)
	walk = func(path string, s schema) {
		s = s.resolve(root)
		if s.Items != nil {
			walk(path+"[]", *s.Items)
		}
		for name, p := range s.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), p)
		}
		if s.Type != "object" {
			return
		}
		if slices.Contains(freeForm, path) {
			seen = append(seen, path)
		} else if string(s.Additional) != "false" {
			t.Errorf(`%q accepts unknown keys, want additionalProperties false`, path)
		}
	}
	walk("", root)
	slices.Sort(seen)
	if want := slices.Sorted(slices.Values(freeForm)); !slices.Equal(seen, want) {
		t.Errorf("of the free-form objects, the schema has only %q, want %q", seen, want)
	}
}

// TestTheSchemaHasTheValuesAndNoOthers compares the keys of values.yaml with
// the keys that the schema allows.
func TestTheSchemaHasTheValuesAndNoOthers(t *testing.T) {
	root := readSchema(t)
	var compare func(path string, s schema, values map[string]any)
	compare = func(path string, s schema, values map[string]any) {
		s = s.resolve(root)
		for name, p := range s.Properties {
			at := strings.TrimPrefix(path+"."+name, ".")
			v, ok := values[name]
			if !ok && at != "global" && !strings.Contains(at, "issuerRef.") && !strings.Contains(at, "resources.") && !strings.HasPrefix(at, "strategy.") && !strings.Contains(at, "Probe.") {
				t.Errorf("the schema allows %s, but values.yaml lacks it", at)
			}
			if m, ok := v.(map[string]any); ok && !slices.Contains(freeForm, at) {
				compare(at, p, m)
			}
		}
		for name := range values {
			if _, ok := s.Properties[name]; !ok {
				t.Errorf("values.yaml has %s.%s, but the schema does not allow it", path, name)
			}
		}
	}
	compare("", root, readValues(t))
}
