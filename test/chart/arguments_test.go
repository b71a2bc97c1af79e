package chart

import (
	"flag"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/kube/certs"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/internal/kube/webhook"
)

// TestTheInjectorsArguments parses the arguments with the injector's own code and compares the names with those of
// the objects.
func TestTheInjectorsArguments(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		c := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.Containers[0]
		if c.Args[0] != "serve" {
			t.Fatalf(`the arguments are %q, want "serve" as the first`, c.Args)
		}
		hook, cert, adm := webhook.DefaultConfig(), certs.DefaultConfig(), admin.DefaultConfig()
		cert.Cluster = kubeapi.Cluster{Host: "10.96.0.1", Port: "443"}
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		hook.Flags(fs)
		cert.Flags(fs)
		adm.Flags(fs)
		file := fs.String("config", "", "")
		fs.Bool("events", false, "")
		fs.String("log-format", "", "")
		fs.String("log-level", "", "")
		bad := settings.Parse(fs, c.Args[1:], func(string) (string, bool) { return "", false })
		for _, err := range slices.Concat(bad, hook.Validate(), cert.Validate(), adm.Validate()) {
			t.Error(err)
		}
		for _, path := range []string{*file, cert.TLSCert, cert.TLSKey} {
			if path != "" && !isMounted(c, path) {
				t.Errorf("%s is not in a mounted volume", path)
			}
		}
		if cert.TLSCert != "" {
			return
		}
		if secret := sole[corev1.Secret](t, objects); secret.Name != cert.Secret || secret.Namespace != cert.Namespace {
			t.Errorf("the Secret is %s in %s, but the injector's is %s in %s", secret.Name, secret.Namespace, cert.Secret, cert.Namespace)
		}
		if service := sole[corev1.Service](t, objects); service.Name != cert.Service {
			t.Errorf("the Service is %s, but the injector's is %s", service.Name, cert.Service)
		}
		if conf := sole[admissionregistrationv1.MutatingWebhookConfiguration](t, objects); conf.Name != cert.Configuration {
			t.Errorf("the webhook configuration is %s, but the injector's is %s", conf.Name, cert.Configuration)
		}
	})
}

func isMounted(c corev1.Container, path string) bool {
	for _, m := range c.VolumeMounts {
		if strings.HasPrefix(path, m.MountPath+"/") {
			return true
		}
	}
	return false
}
