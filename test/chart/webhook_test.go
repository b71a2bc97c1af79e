package chart

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func webhooks(t *testing.T, objects []object) []admissionregistrationv1.MutatingWebhook {
	t.Helper()
	return sole[admissionregistrationv1.MutatingWebhookConfiguration](t, objects).Webhooks
}

// asked returns how many webhooks an API server calls for a pod.
func asked(t *testing.T, hooks []admissionregistrationv1.MutatingWebhook, namespace string, namespaceLabels, podLabels labels.Set) int {
	t.Helper()
	all := labels.Merge(namespaceLabels, labels.Set{"kubernetes.io/metadata.name": namespace})
	n := 0
	for _, w := range hooks {
		if matches(t, w.NamespaceSelector, all) && matches(t, w.ObjectSelector, podLabels) {
			n++
		}
	}
	return n
}

func matches(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}

func TestWhichPodsAreReviewed(t *testing.T) {
	on, injector := labels.Set{"ullage.dev/injection": "enabled"}, labels.Set{"app.kubernetes.io/name": "ullage-injector", "ullage.dev/inject": "true"}
	label := func(value string) labels.Set { return labels.Set{"ullage.dev/inject": value} }
	each(t, func(t *testing.T, r rendering, objects []object) {
		hooks := webhooks(t, objects)
		for _, c := range []struct {
			what, namespace string
			ns, pod         labels.Set
			want            int
		}{
			{"nobody asked", "shop", nil, nil, 0},
			{"a label on the pod", "shop", nil, label("true"), 1},
			{"another value of it", "shop", nil, label("yes"), 0},
			{"a label on the namespace", "shop", on, nil, 1},
			{"another value of it", "shop", labels.Set{"ullage.dev/injection": "disabled"}, nil, 0},
			{"labels on both", "shop", on, label("true"), 1},
			{"a pod that opts out", "shop", on, label("false"), 0},
			{"a pod in kube-system", "kube-system", on, label("true"), 0},
			{"another in kube-system", "kube-system", on, nil, 0},
			{"the injector", r.namespace, on, injector, 0},
			{"an injector elsewhere", "shop", on, injector, 0},
		} {
			if got := asked(t, hooks, c.namespace, c.ns, c.pod); got != c.want {
				t.Errorf("%s: %d webhooks are called, want %d", c.what, got, c.want)
			}
		}
		// If the release is in "default", users have pods there.
		want := 0
		if r.namespace == "default" {
			want = 1
		}
		if got := asked(t, hooks, r.namespace, on, label("true")); got != want {
			t.Errorf("a pod in the release's namespace: %d webhooks are called, want %d", got, want)
		}
		job := sole[batchv1.Job](t, ofHook(objects, "test"))
		if got := asked(t, hooks, job.Namespace, nil, job.Spec.Template.Labels); got != 1 {
			t.Errorf("the pod of helm test: %d webhooks are called, want 1", got)
		}
	})
}

func TestWebhooksHinderNoPod(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		effects := admissionregistrationv1.SideEffectClassNone
		if r.name == "secret" { // where the injector creates events
			effects = admissionregistrationv1.SideEffectClassNoneOnDryRun
		}
		for _, w := range webhooks(t, objects) {
			if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.TimeoutSeconds != 5 ||
				*w.SideEffects != effects ||
				*w.ReinvocationPolicy != admissionregistrationv1.IfNeededReinvocationPolicy ||
				*w.MatchPolicy != admissionregistrationv1.Equivalent ||
				len(w.AdmissionReviewVersions) != 1 || w.AdmissionReviewVersions[0] != "v1" {
				t.Errorf("the webhook %s is %+v; want Ignore, a timeout of 5 s, the side effects %s, IfNeeded, Equivalent and v1 alone", w.Name, w, effects)
			}
			for _, rule := range w.Rules {
				if len(rule.Operations) != 1 || rule.Operations[0] != admissionregistrationv1.Create ||
					len(rule.Resources) != 1 || rule.Resources[0] != "pods" {
					t.Errorf("%s: the rule is %+v, want the creation of pods alone", w.Name, rule)
				}
			}
		}
	})
}

// TestTheWayToTheInjector follows a review from the webhook through the Service to a port of the Deployment's pods.
func TestTheWayToTheInjector(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		service, deployment := sole[corev1.Service](t, objects), sole[appsv1.Deployment](t, objects)
		for _, w := range webhooks(t, objects) {
			s := w.ClientConfig.Service
			if s == nil || s.Name != service.Name || s.Namespace != r.namespace || *s.Path != "/mutate" || *s.Port != service.Spec.Ports[0].Port {
				t.Errorf("%s goes to %+v; want /mutate of %s in %s at port %d", w.Name, s, service.Name, r.namespace, service.Spec.Ports[0].Port)
			}
		}
		pod := deployment.Spec.Template
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || !matches(t, deployment.Spec.Selector, pod.Labels) {
			t.Error("the injector's pods are not selected, want the Service and the Deployment to select them")
		}
		c := pod.Spec.Containers[0]
		ports := map[string]int32{}
		for _, p := range c.Ports {
			ports[p.Name] = p.ContainerPort
		}
		for _, target := range []intstr.IntOrString{service.Spec.Ports[0].TargetPort, service.Spec.Ports[1].TargetPort, c.ReadinessProbe.HTTPGet.Port, c.LivenessProbe.HTTPGet.Port} {
			if ports[target.StrVal] == 0 {
				t.Errorf("the container has no port %q, want one", target.StrVal)
			}
		}
		if len(service.Name) > 63 {
			t.Errorf("the Service's name is too long, want at most 63 characters: %s", service.Name)
		}
	})
}
