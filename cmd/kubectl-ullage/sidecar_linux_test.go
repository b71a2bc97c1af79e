package main

import (
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// The plugin also runs on systems on which the sidecar's packages cannot be built. So the plugin has its own copies of
// the words in a sidecar's status, and the copies must match.
func TestTheWordsOfASidecarsStatus(t *testing.T) {
	if fromAnnotation != string(plan.FromAnnotation) || fromCommand != string(plan.FromCommand) {
		t.Errorf("the causes are %q and %q, want %q and %q", fromAnnotation, fromCommand, plan.FromAnnotation, plan.FromCommand)
	}
	want := []string{string(attach.Refused), string(attach.NotPermitted), string(attach.TooOld)}
	if !slices.Equal(hopeless, want) {
		t.Errorf("the hopeless kinds are %q, want %q", hopeless, want)
	}
}
