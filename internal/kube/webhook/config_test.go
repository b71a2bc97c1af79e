package webhook

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	if bad := DefaultConfig().Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	for _, c := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Listen = "9443" }, "--webhook-listen"},
		{func(c *Config) { c.Listen = ":https" }, "--webhook-listen"},
		{func(c *Config) { c.ShutdownDelay = -1 }, "--shutdown-delay"},
		{func(c *Config) { c.ShutdownDelay = time.Hour }, "--shutdown-delay"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		if text := errors.Join(cfg.Validate()...); text == nil || !strings.Contains(text.Error(), c.says) {
			t.Errorf("want an error with %q, got %v", c.says, text)
		}
	}
}
