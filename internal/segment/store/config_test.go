package store

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

func TestFlagsSetTheConfig(t *testing.T) {
	cfg := DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	args := []string{"--compress=none", "--segment-bytes=1Mi", "--retain-bytes=8Mi", "--retain-age=2h"}
	if bad := settings.Parse(fs, args, func(string) (string, bool) { return "", false }); bad != nil {
		t.Fatalf("the flags are refused: %v", bad)
	}
	want := Config{Compress: segment.None, SegmentBytes: settings.Mi, SegmentAge: time.Hour, RetainBytes: 8 * settings.Mi, RetainAge: 2 * time.Hour}
	if cfg != want {
		t.Fatalf("got %+v, want %+v", cfg, want)
	}
}

func TestDefaultsAreValidAndShown(t *testing.T) {
	cfg := DefaultConfig()
	if bad := cfg.Validate(); bad != nil {
		t.Fatalf("the defaults are refused: %v", bad)
	}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	var b strings.Builder
	settings.PrintFlags(&b, fs)
	for _, want := range []string{"(default zstd)", "(default 64Mi)", "(default 1Gi)", "(default 168h)", "--compress FORMAT"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestEveryBadSettingIsNamed(t *testing.T) {
	cfg := Config{Compress: 9, SegmentBytes: 1, RetainBytes: -1, RetainAge: -1}
	text := errors.Join(cfg.Validate()...).Error()
	for _, want := range []string{"--compress", "--segment-bytes", "--retain-bytes", "--retain-age"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	small := DefaultConfig()
	small.RetainBytes = settings.Mi
	if bad := small.Validate(); len(bad) != 1 || !strings.Contains(bad[0].Error(), "at least one segment") {
		t.Errorf(`RetainBytes below SegmentBytes: %v, want 1 in bad and "at least one segment" in it`, bad)
	}
	unbounded := DefaultConfig()
	unbounded.RetainBytes, unbounded.RetainAge = 0, 0
	if bad := unbounded.Validate(); bad != nil {
		t.Errorf("zero, which means no bound, is refused: %v, want no error", bad)
	}
}
