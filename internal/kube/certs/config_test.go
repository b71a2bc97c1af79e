package certs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/kube/kubeapi"
)

func TestConfig(t *testing.T) {
	good := DefaultConfig()
	good.Secret, good.Service, good.Namespace, good.Configuration = "certs", "injector", "shop-system", "ullage.example.com"
	good.Cluster = kubeapi.InCluster(func(name string) (string, bool) {
		return map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}[name], true
	})
	if bad := good.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	files := Config{TLSCert: "c", TLSKey: "k"}
	if bad := files.Validate(); len(bad) > 0 {
		t.Fatalf("with files, the errors are %v, want none", bad)
	}
	for _, c := range []struct {
		base   Config
		change func(*Config)
		says   string
	}{
		{good, func(c *Config) { c.Lifetime = time.Minute }, "--certificate-lifetime"},
		{good, func(c *Config) { c.Lifetime = maxLifetime + 1 }, "--certificate-lifetime"},
		{good, func(c *Config) { c.Secret = "" }, "--certificate-secret is missing"},
		{good, func(c *Config) { c.Secret = "../x" }, "--certificate-secret"},
		{good, func(c *Config) { c.Service = "a.b" }, "--service"},
		{good, func(c *Config) { c.Namespace = "A" }, "--namespace"},
		{good, func(c *Config) { c.Namespace = "a/b" }, "--namespace"},
		{good, func(c *Config) { c.Configuration = strings.Repeat("x", 254) }, "--webhook-configuration"},
		{good, func(c *Config) { c.Cluster.Host = "" }, "run the program in a pod"},
		{good, func(c *Config) { c.Cluster.Port = "x" }, "KUBERNETES_SERVICE_PORT"},
		{good, func(c *Config) { c.TLSCert = "x" }, "must be set together"},
		{files, func(c *Config) { c.TLSCert = "" }, "must be set together"},
		{files, func(c *Config) { c.Secret = "certs" }, "--certificate-secret is for"},
	} {
		cfg := c.base
		c.change(&cfg)
		if text := errors.Join(cfg.Validate()...); text == nil || !strings.Contains(text.Error(), c.says) {
			t.Errorf("want an error with %q, got %v", c.says, text)
		}
	}
	if bad := (Config{}).Validate(); len(bad) != 6 {
		t.Errorf("%d errors at once, want 6: %v", len(bad), bad)
	}
}
