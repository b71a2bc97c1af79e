package main

import (
	"testing"

	"github.com/ullage/ullage/internal/base/admin"
)

func TestSidecarsOfAnOlderVersionAreCounted(t *testing.T) {
	for _, c := range []struct {
		versions []string // of sidecars; "?" does not answer
		own      string   // of the querying program
		want     string
	}{
		{nil, "v0.2.0", ""},
		{[]string{"v0.2.0", "v0.2.0", "?", ""}, "v0.2.0", ""},
		{[]string{"v0.2.0", "v0.10.0", "v0.2.0"}, "v0.9.0", "2 of 3 sidecars are older than v0.10.0 (v0.2.0): restart their pods"},
		{[]string{"v0.2.0-rc.1", "v0.2.0", "v0.1.9"}, "(devel)", "2 of 3 sidecars are older than v0.2.0 (v0.1.9, v0.2.0-rc.1): restart their pods"},
		{[]string{"v0.2.0", "v0.2.0"}, "0.3.0", "2 of 2 sidecars are older than 0.3.0 (v0.2.0): restart their pods"},
		{[]string{"v0.2.0", "v0.2.0"}, "0f14225f", ""}, // a build of a commit
		{[]string{"v0.2.0"}, "0.2.0", ""}, // the same version, written differently
	} {
		var answers []answer
		for _, v := range c.versions {
			a := answer{status: admin.Status{Version: v}}
			if v == "?" {
				a = answer{err: errNoSidecar}
			}
			answers = append(answers, a)
		}
		if got := outdated(answers, c.own); got != c.want {
			t.Errorf("%q: %q, want %q", c.versions, got, c.want)
		}
	}
}
