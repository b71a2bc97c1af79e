package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/sink/address"
)

// The injector checks annotations by the schemes alone, without the sinks.
func TestEachSchemeHasASink(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(sinkKinds())), slices.Sorted(slices.Values(address.Schemes())); !slices.Equal(got, want) {
		t.Errorf("there are sinks for %q, and the schemes are %q", got, want)
	}
}
