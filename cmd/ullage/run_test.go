package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/sink/address"
)

// The injector checks the sink URLs of annotations against the list of schemes alone, because it does not contain the
// sinks.
func TestEachSchemeHasASink(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(sinkKinds())), slices.Sorted(slices.Values(address.Schemes())); !slices.Equal(got, want) {
		t.Errorf("there are sinks for %q, want one for each of the schemes %q", got, want)
	}
}
