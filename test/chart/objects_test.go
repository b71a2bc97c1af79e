package chart

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// An object is one document rendered by helm.
type object struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`

	text  string
	typed any // a pointer to the API's type
}

// kinds are the types that the chart's objects must decode into, by apiVersion
// and kind. Other kinds are a mistake.
var kinds = map[string]any{
	"v1 ConfigMap":                                    corev1.ConfigMap{},
	"v1 Secret":                                       corev1.Secret{},
	"v1 Service":                                      corev1.Service{},
	"v1 ServiceAccount":                               corev1.ServiceAccount{},
	"apps/v1 Deployment":                              appsv1.Deployment{},
	"batch/v1 Job":                                    batchv1.Job{},
	"batch/v1 CronJob":                                batchv1.CronJob{},
	"policy/v1 PodDisruptionBudget":                   policyv1.PodDisruptionBudget{},
	"scheduling.k8s.io/v1 PriorityClass":              schedulingv1.PriorityClass{},
	"networking.k8s.io/v1 NetworkPolicy":              networkingv1.NetworkPolicy{},
	"rbac.authorization.k8s.io/v1 Role":               rbacv1.Role{},
	"rbac.authorization.k8s.io/v1 RoleBinding":        rbacv1.RoleBinding{},
	"rbac.authorization.k8s.io/v1 ClusterRole":        rbacv1.ClusterRole{},
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": rbacv1.ClusterRoleBinding{},
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":     admissionregistrationv1.MutatingWebhookConfiguration{},
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":        admissionregistrationv1.ValidatingAdmissionPolicy{},
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
	"cert-manager.io/v1 Issuer":                                        issuer{},
	"cert-manager.io/v1 Certificate":                                   certificate{},
	"monitoring.coreos.com/v1 PodMonitor":                              monitor{},
	"monitoring.coreos.com/v1 ServiceMonitor":                          monitor{},
	"monitoring.coreos.com/v1 PrometheusRule":                          prometheusRule{},
}

// The parts of cert-manager's types (pkg/apis/certmanager/v1 of cert-manager) that the chart uses.
type (
	issuer struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			SelfSigned *struct{} `json:"selfSigned"`
			CA         *struct {
				SecretName string `json:"secretName"`
			} `json:"ca"`
		} `json:"spec"`
	}
	certificate struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			IsCA       bool            `json:"isCA"`
			CommonName string          `json:"commonName"`
			DNSNames   []string        `json:"dnsNames"`
			SecretName string          `json:"secretName"`
			Duration   metav1.Duration `json:"duration"`
			Usages     []string        `json:"usages"`
			PrivateKey struct {
				Algorithm      string `json:"algorithm"`
				Size           int    `json:"size"`
				RotationPolicy string `json:"rotationPolicy"`
			} `json:"privateKey"`
			IssuerRef struct {
				Group string `json:"group"`
				Kind  string `json:"kind"`
				Name  string `json:"name"`
			} `json:"issuerRef"`
		} `json:"spec"`
	}
)

// monitor has those parts of PodMonitor and ServiceMonitor (pkg/apis/monitoring/v1 of prometheus-operator) that the
// chart uses.
type monitor struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		NamespaceSelector struct {
			Any bool `json:"any"`
		} `json:"namespaceSelector"`
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []endpoint           `json:"endpoints"`
		Pods      []endpoint           `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

type endpoint struct {
	Port              string       `json:"port"`
	Path              string       `json:"path"`
	Interval          string       `json:"interval"`
	Relabelings       []relabeling `json:"relabelings"`
	MetricRelabelings []relabeling `json:"metricRelabelings"`
}

type relabeling struct {
	Action       string   `json:"action"`
	SourceLabels []string `json:"sourceLabels"`
	Regex        string   `json:"regex"`
	TargetLabel  string   `json:"targetLabel"`
	Replacement  string   `json:"replacement"`
}

var separator = regexp.MustCompile(`(?m)^---\n`)

// decode splits what helm rendered into objects. A field that is unknown to the API, or that is there twice, is an
// error.
func decode(t *testing.T, text string) []object {
	t.Helper()
	var objects []object
	for _, doc := range separator.Split(text, -1) {
		o := object{text: doc}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if o.Kind == "" && strings.TrimSpace(stripComments(doc)) == "" {
			continue
		}
		kind, ok := kinds[o.APIVersion+" "+o.Kind]
		if !ok {
			t.Fatalf("no objects of kind %q %q are expected from the chart:\n%s", o.APIVersion, o.Kind, doc)
		}
		o.typed = reflect.New(reflect.TypeOf(kind)).Interface()
		if err := yaml.UnmarshalStrict([]byte(doc), o.typed); err != nil {
			t.Fatalf("%s %s: %v", o.Kind, o.Metadata.Name, err)
		}
		objects = append(objects, o)
	}
	return objects
}

func stripComments(text string) string {
	return regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(text, "")
}

// all returns the objects of one type. sole returns the only object of a type and fails the test if there is not
// exactly one.
func all[T any](objects []object) []*T {
	var found []*T
	for _, o := range objects {
		if typed, ok := o.typed.(*T); ok {
			found = append(found, typed)
		}
	}
	return found
}

func sole[T any](t *testing.T, objects []object) *T {
	t.Helper()
	found := all[T](objects)
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want one", len(found), *new(T))
	}
	return found[0]
}

// ofRelease returns the objects that stay installed. ofHook returns the objects of a helm hook.
func ofRelease(objects []object) []object { return ofHook(objects, "") }

func ofHook(objects []object, hook string) []object {
	var found []object
	for _, o := range objects {
		if strings.HasPrefix(o.Metadata.Annotations["helm.sh/hook"], hook) && (hook != "" || o.Metadata.Annotations["helm.sh/hook"] == "") {
			found = append(found, o)
		}
	}
	return found
}

func (o object) String() string { return fmt.Sprintf("%s %s", o.Kind, o.Metadata.Name) }
