package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// rights lists what the objects permit: "verb resource name" for each, after the word "cluster" if the right is not
// limited to a namespace.
func rights(objects []object) []string {
	var list []string
	add := func(scope string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, verb := range r.Verbs {
				list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s %s", scope, verb,
					strings.Join(r.APIGroups, "+"), strings.Join(r.Resources, "+"), strings.Join(r.ResourceNames, "+"))))
			}
		}
	}
	for _, r := range all[rbacv1.Role](objects) {
		add("", r.Rules)
	}
	for _, r := range all[rbacv1.ClusterRole](objects) {
		add("cluster", r.Rules)
	}
	return list
}

// The injector's pods have a token only if they have rights.
func TestRightsAreThoseOfSelfMadeCertificatesAndOfEvents(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		name := sole[appsv1.Deployment](t, objects).Name
		var want []string
		selfMade := !slices.Contains([]string{"certmanager", "issuer", "secret"}, r.name)
		if selfMade {
			want = []string{
				"get /secrets " + name + "-certificate",
				"update /secrets " + name + "-certificate",
				"cluster get admissionregistration.k8s.io/mutatingwebhookconfigurations " + name,
				"cluster patch admissionregistration.k8s.io/mutatingwebhookconfigurations " + name,
			}
		}
		events := r.name == "secret"
		if events {
			want = append(want, "cluster create /events")
		}
		if diff := cmp.Diff(want, rights(objects)); diff != "" {
			t.Errorf("rights (-want +got):\n%s", diff)
		}
		token := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.AutomountServiceAccountToken
		if token == nil || *token != (selfMade || events) {
			t.Errorf("automountServiceAccountToken is %v, want %v", token, selfMade || events)
		}
		for _, p := range all[networkingv1.NetworkPolicy](objects) {
			if (len(p.Spec.Egress) > 0) != (selfMade || events) {
				t.Errorf("the policy allows the egress %v, want it to allow some: %t", p.Spec.Egress, selfMade || events)
			}
		}
		checkBindings(t, r, objects)
	})
}

// checkBindings checks that only the injector is given rights.
func checkBindings(t *testing.T, r rendering, objects []object) {
	t.Helper()
	account := sole[corev1.ServiceAccount](t, objects).Name
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: r.namespace}}
	var subjects [][]rbacv1.Subject
	for _, b := range all[rbacv1.RoleBinding](objects) {
		subjects = append(subjects, b.Subjects)
	}
	for _, b := range all[rbacv1.ClusterRoleBinding](objects) {
		subjects = append(subjects, b.Subjects)
	}
	for _, s := range subjects {
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("a binding's subjects (-want +got):\n%s", diff)
		}
	}
	if used := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.ServiceAccountName; used != account {
		t.Errorf("the injector runs as %q, and the account is %q", used, account)
	}
}

// TestPodsAreRestricted checks the requirements of the `restricted` Pod Security Standard for every pod in the chart.
func TestPodsAreRestricted(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		pods := []corev1.PodSpec{sole[appsv1.Deployment](t, objects).Spec.Template.Spec}
		for _, job := range all[batchv1.Job](objects) {
			pods = append(pods, job.Spec.Template.Spec)
		}
		if len(pods) < 2 {
			t.Errorf("%d pods, want at least 2: those of the injector and of the hooks", len(pods))
		}
		for _, pod := range pods {
			s := pod.SecurityContext
			if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("the pod's securityContext is %+v; want RunAsNonRoot and the seccomp profile %s", s, corev1.SeccompProfileTypeRuntimeDefault)
			}
			if pod.HostNetwork || pod.HostPID || pod.HostIPC || (s != nil && s.RunAsUser != nil && *s.RunAsUser == 0) {
				t.Error("the pod shares a namespace with its node or runs as root")
			}
			for _, v := range pod.Volumes {
				if v.ConfigMap == nil && v.Secret == nil {
					t.Errorf("volume %s is neither a ConfigMap nor a Secret", v.Name)
				}
			}
			for _, c := range pod.Containers {
				checkContainer(t, c)
			}
		}
	})
}

func checkContainer(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		s.Privileged != nil || s.Capabilities == nil || len(s.Capabilities.Add) > 0 || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the securityContext of container %s is %+v; want no escalation, a read-only root, Privileged unset and all capabilities dropped", c.Name, s)
	}
	for _, p := range c.Ports {
		if p.HostPort != 0 {
			t.Errorf("container %s takes port %d of its node, want no port of the node", c.Name, p.HostPort)
		}
	}
	for _, m := range c.VolumeMounts {
		if m.SubPath != "" || !m.ReadOnly {
			t.Errorf(`mount %s of container %s, want SubPath "" and ReadOnly true: %+v`, m.Name, c.Name, m)
		}
	}
}

// TestSecretsAndWebhooksAreLeftAloneByAnUpgrade checks that no template has the fields that the injector writes, so
// that helm's three-way merge never touches them.
func TestSecretsAndWebhooksAreLeftAloneByAnUpgrade(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		for _, o := range objects {
			if _, ok := o.typed.(*corev1.Secret); ok && (strings.Contains(o.text, "\ndata") || strings.Contains(o.text, "\nstringData")) {
				t.Errorf("%s has data, want none:\n%s", o, o.text)
			}
		}
		for _, w := range sole[admissionregistrationv1.MutatingWebhookConfiguration](t, objects).Webhooks {
			if (len(w.ClientConfig.CABundle) > 0) != (r.name == "secret") {
				t.Errorf("%s has a caBundle of %d bytes, want one: %t", w.Name, len(w.ClientConfig.CABundle), r.name == "secret")
			}
		}
	})
}
