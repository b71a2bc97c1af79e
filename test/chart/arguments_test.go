package chart

import (
	"flag"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/settings"
	"github.com/ullage/ullage/internal/webhook"
)

// TestTheInjectorsArguments has them read by the code that the injector reads
// them with, and compares the names in them with those of the objects.
func TestTheInjectorsArguments(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		c := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.Containers[0]
		if c.Args[0] != "serve" {
			t.Fatalf("arguments: %q", c.Args)
		}
		hook, adm := webhook.DefaultConfig(), admin.DefaultConfig()
		hook.Cluster = webhook.Cluster{Host: "10.96.0.1", Port: "443"}
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		hook.Flags(fs)
		adm.Flags(fs)
		file := fs.String("config", "", "")
		fs.String("log-format", "", "")
		fs.String("log-level", "", "")
		bad := settings.Parse(fs, c.Args[1:], func(string) (string, bool) { return "", false })
		for _, err := range append(append(bad, hook.Validate()...), adm.Validate()...) {
			t.Error(err)
		}
		for _, path := range []string{*file, hook.TLSCert, hook.TLSKey} {
			if path != "" && !isMounted(c, path) {
				t.Errorf("%s is in no volume", path)
			}
		}
		if hook.TLSCert != "" {
			return
		}
		if secret := sole[corev1.Secret](t, objects); secret.Name != hook.Secret || secret.Namespace != hook.Namespace {
			t.Errorf("the Secret is %s in %s, and the injector's %s in %s", secret.Name, secret.Namespace, hook.Secret, hook.Namespace)
		}
		if service := sole[corev1.Service](t, objects); service.Name != hook.Service {
			t.Errorf("the Service is %s, and the injector's %s", service.Name, hook.Service)
		}
		if conf := sole[admissionregistrationv1.MutatingWebhookConfiguration](t, objects); conf.Name != hook.Configuration {
			t.Errorf("the webhook configuration is %s, and the injector's %s", conf.Name, hook.Configuration)
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
