package main

import (
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// The plugin is for other systems too, on which the sidecar's packages do not
// build: it has the words of a sidecar's status as texts.
func TestTheWordsOfASidecarsStatus(t *testing.T) {
	if fromAnnotation != string(plan.FromAnnotation) || fromCommand != string(plan.FromCommand) {
		t.Errorf("causes: %q, %q", fromAnnotation, fromCommand)
	}
	want := []string{string(attach.Refused), string(attach.NotPermitted), string(attach.TooOld)}
	if !slices.Equal(hopeless, want) {
		t.Errorf("kinds: %q, want %q", hopeless, want)
	}
}
