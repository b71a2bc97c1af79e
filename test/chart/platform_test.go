package chart

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// All features that platform teams expect from such a chart, at once: a cluster whose control plane reaches only the
// nodes, a mesh, an enforcer, and objects with names of their own.
const platform = `
fullnameOverride: logs
webhook:
  port: 10260
  hostNetwork: true
  failurePolicy: Fail
  timeoutSeconds: 10
  annotations: {admissions.enforcer/disabled: "true"}
  namespaceSelector: [{key: team, operator: In, values: [shop, pay]}]
  objectSelector: [{key: batch, operator: DoesNotExist}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: infra, operator: Exists}]}]}}}
podLabels: {team: platform}
podAnnotations: {sidecar.istio.io/inject: "false"}
extraArgs: [--shutdown-delay=10s]
extraEnv: [{name: GODEBUG, value: netdns=go}]
serviceAccount: {annotations: {example.com/role: injector}}
`

// injector returns the objects that the chart makes from values, and the Deployment among them.
func injector(t *testing.T, values string) ([]object, *appsv1.Deployment) {
	t.Helper()
	text, err := template(t, values)
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, text)
	return objects, sole[appsv1.Deployment](t, objects)
}

func TestWhatPlatformTeamsSet(t *testing.T) {
	objects, d := injector(t, platform)
	pod := d.Spec.Template
	c := pod.Spec.Containers[0]
	if d.Name != "logs-injector" || sole[corev1.Service](t, objects).Name != "logs-injector" {
		t.Errorf(`the Deployment is %s, want the Deployment and the Service to have the name logs-injector`, d.Name)
	}
	if !pod.Spec.HostNetwork || pod.Spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet || d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 {
		t.Errorf("the pod is %+v, the strategy %+v; want the host's network, the DNS policy %s and no surge", pod.Spec, d.Spec.Strategy, corev1.DNSClusterFirstWithHostNet)
	}
	if !slices.Contains(c.Args, "--webhook-listen=:10260") || c.Args[len(c.Args)-1] != "--shutdown-delay=10s" || c.Ports[0].ContainerPort != 10260 || c.Env[0].Name != "GODEBUG" {
		t.Errorf("the container has the arguments %q, ports %+v and environment %+v; want port 10260 in the arguments and ports, --shutdown-delay=10s last, GODEBUG first", c.Args, c.Ports, c.Env)
	}
	if pod.Labels["team"] != "platform" || pod.Annotations["sidecar.istio.io/inject"] != "false" || pod.Spec.Affinity.NodeAffinity == nil {
		t.Errorf("the pod's metadata is %+v; want the label team=platform, the annotation sidecar.istio.io/inject=false and a node affinity", pod.ObjectMeta)
	}
	if a := sole[corev1.ServiceAccount](t, objects).Annotations; a["example.com/role"] != "injector" {
		t.Errorf(`the service account has the annotations %v, want example.com/role=injector`, a)
	}
	hooks := sole[admissionregistrationv1.MutatingWebhookConfiguration](t, objects)
	if hooks.Annotations["admissions.enforcer/disabled"] != "true" {
		t.Errorf(`the webhooks' annotations are %v, want admissions.enforcer/disabled=true`, hooks.Annotations)
	}
	for _, w := range hooks.Webhooks {
		if *w.FailurePolicy != admissionregistrationv1.Fail || *w.TimeoutSeconds != 10 || *w.ClientConfig.Service.Port != 443 {
			t.Errorf("the webhook %s is %+v; want the failure policy %s, a timeout of 10 s and port 443", w.Name, w, admissionregistrationv1.Fail)
		}
		last := w.NamespaceSelector.MatchExpressions[len(w.NamespaceSelector.MatchExpressions)-1]
		first := w.ObjectSelector.MatchExpressions[len(w.ObjectSelector.MatchExpressions)-1]
		if last.Key != "team" || first.Key != "batch" || len(w.NamespaceSelector.MatchExpressions) < 2 {
			t.Errorf(`%s: the selectors are %+v and %+v; want team as the last of at least 2 keys for namespaces, and batch as the last key for objects`, w.Name, w.NamespaceSelector, w.ObjectSelector)
		}
	}
	if both, err := template(t, platform+"certificates: {certManager: {enabled: true}}"); err != nil || !strings.Contains(both, "admissions.enforcer/disabled: \"true\"\n    cert-manager.io/inject-ca-from: ullage-system/logs-injector") {
		t.Errorf("with cert-manager's annotation: error %v; want no error and admissions.enforcer/disabled before that annotation", err)
	}
}

// furtherValues sets the other values that charts like this one usually have.
const furtherValues = `
commonLabels: {cost-center: "17"}
podLabels: {cost-center: "18"}
topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 50%, maxUnavailable: 1}}
podDisruptionBudget: {maxUnavailable: 50%}
podSecurityContext: {runAsUser: 1234, runAsNonRoot: false}
securityContext: {readOnlyRootFilesystem: false}
podAnnotations: {prometheus.io/port: "1"}
livenessProbe: {failureThreshold: 12}
service: {annotations: {example.com/a: b}}
serviceAccount: {name: "77"}
`

func TestWhatChartsLikeThisOneHave(t *testing.T) {
	objects, d := injector(t, furtherValues)
	pod := d.Spec.Template
	c := pod.Spec.Containers[0]
	if d.Labels["cost-center"] != "17" || pod.Labels["cost-center"] != "18" || sole[corev1.Service](t, objects).Labels["cost-center"] != "17" {
		t.Errorf(`the labels are %v and %v; want cost-center=17 on the Deployment and the Service, and cost-center=18 on the pod`, d.Labels, pod.Labels)
	}
	if !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) || len(d.Spec.Selector.MatchLabels) != 2 {
		t.Errorf("the selector is %v, want 2 labels that match the pod's %v", d.Spec.Selector, pod.Labels)
	}
	if spread := pod.Spec.TopologySpreadConstraints; len(spread) != 1 || spread[0].TopologyKey != "rack" || d.Spec.Strategy.RollingUpdate.MaxSurge.StrVal != "50%" {
		t.Errorf(`the spread is %+v, the strategy %+v; want 1 constraint with the topology key rack, and a surge of at most 50%%`, spread, d.Spec.Strategy)
	}
	budget := sole[policyv1.PodDisruptionBudget](t, objects)
	if budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.StrVal != "50%" {
		t.Errorf("the disruption budget is %+v, want 50%% as maxUnavailable", budget.Spec)
	}
	s := pod.Spec.SecurityContext
	if *s.RunAsUser != 1234 || *s.RunAsNonRoot || s.SeccompProfile == nil || *c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the pod's security context is %+v, the container's %+v; want user 1234, a seccomp profile, and no RunAsNonRoot, read-only root or escalation", s, c.SecurityContext)
	}
	if pod.Annotations["prometheus.io/port"] != "1" || pod.Annotations["prometheus.io/path"] != "/metrics" || pod.Annotations["checksum/config"] == "" {
		t.Errorf("the pod's annotations are %v; want prometheus.io/port 1, prometheus.io/path /metrics and a checksum/config", pod.Annotations)
	}
	if p := c.LivenessProbe; p.FailureThreshold != 12 || p.PeriodSeconds != 10 || p.HTTPGet == nil {
		t.Errorf("the liveness probe is %+v; want HTTP, a period of 10 s and a threshold of 12 failures", p)
	}
	account := sole[corev1.ServiceAccount](t, objects)
	if account.Name != "77" || *account.AutomountServiceAccountToken || pod.Spec.ServiceAccountName != "77" || sole[corev1.Service](t, objects).Annotations["example.com/a"] != "b" {
		t.Errorf("the service account is %+v, the pod's is %s; want 77 for both, no token mounted, and the Service's annotation example.com/a=b", account, pod.Spec.ServiceAccountName)
	}
	for _, b := range all[rbacv1.RoleBinding](objects) {
		if b.Subjects[0].Name != "77" {
			t.Errorf(`the subjects are %+v, want Name "77"`, b.Subjects)
		}
	}
	objects, _ = injector(t, "serviceAccount: {create: false, name: own}\npodDisruptionBudget: {enabled: false}")
	if len(all[corev1.ServiceAccount](objects)) != 0 || sole[rbacv1.ClusterRoleBinding](t, objects).Subjects[0].Name != "own" || len(all[policyv1.PodDisruptionBudget](objects)) != 0 {
		t.Error("the chart has an account or a budget of its own, or binds another account; want only the user's account, own")
	}
}

// A namespace and a release may have names that YAML reads as numbers.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	text, err := runHelm(t, "template", "1e3", chartDir, "--namespace", "0123", "--kube-version", "1.30.0", "--set", "registry="+registry,
		"--set", "accountPolicy.enabled=true", "--set", "podMonitor.enabled=true", "--set", "serviceMonitor.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, text)
	if d := sole[appsv1.Deployment](t, objects); d.Namespace != "0123" || d.Spec.Template.Labels["app.kubernetes.io/instance"] != "1e3" {
		t.Errorf(`the Deployment's metadata is %+v, want the namespace 0123 and the pod's label app.kubernetes.io/instance=1e3`, d.ObjectMeta)
	}
	if w := webhooks(t, objects); w[0].ClientConfig.Service.Namespace != "0123" {
		t.Errorf(`the webhook's client is %+v, want Namespace "0123"`, w[0].ClientConfig)
	}
}

// The policy applies only to the one account. It is created only if there is something to restrict and the cluster
// knows such policies. What it permits is tested in test/e2e.
func TestTheAccountPolicy(t *testing.T) {
	render := func(version string, values ...string) ([]object, error) {
		args := []string{"template", "ullage", chartDir, "--namespace", "ullage-system", "--kube-version", version, "--set", "registry=" + registry, "--set", "accountPolicy.enabled=true"}
		for _, value := range values {
			args = append(args, "--set", value)
		}
		text, err := runHelm(t, args...)
		if err != nil {
			return nil, err
		}
		return decode(t, text), nil
	}
	objects, err := render("1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	policy, binding := sole[admissionregistrationv1.ValidatingAdmissionPolicy](t, objects), sole[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, objects)
	account := sole[corev1.ServiceAccount](t, objects)
	if binding.Spec.PolicyName != policy.Name || !strings.Contains(policy.Spec.MatchConditions[0].Expression, `"system:serviceaccount:ullage-system:`+account.Name+`"`) {
		t.Errorf("the policy is %+v, the binding %+v; want a binding to that policy, whose first condition names the service account %s", policy, binding, account.Name)
	}
	if _, err := render("1.29.4"); err == nil || !strings.Contains(err.Error(), "needs Kubernetes 1.30") {
		t.Errorf(`in an older cluster: %v, want "needs Kubernetes 1.30" in it`, err)
	}
	objects, err = render("1.30.0", "certificates.certManager.enabled=true")
	if err != nil || len(all[admissionregistrationv1.ValidatingAdmissionPolicy](objects)) != 0 {
		t.Errorf("without self-made certificates: error %v; want no error and no ValidatingAdmissionPolicy", err)
	}
}
