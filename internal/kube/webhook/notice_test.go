package webhook

import (
	"fmt"
	"strings"
	"testing"
)

// A dry run has no side effects. A pod without a controller may not have a name yet, so no event could refer to it.
func TestWhoIsNotifiedOfAPod(t *testing.T) {
	controlled := func(pod string) string {
		return body(pod, `"metadata":{"name":`, `"metadata":{"ownerReferences":[{"apiVersion":"x","kind":"Other","name":"no"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5f7","uid":"u-7","controller":true}],"name":`)
	}
	for name, c := range map[string]struct{ text, want string }{
		"injected":         {controlled("web"), "shop apps/v1 ReplicaSet web-5f7 u-7 true [dest is emptyDir in shop]"},
		"refused":          {controlled("refused"), "shop apps/v1 ReplicaSet web-5f7 u-7 false [not injected: ullage.dev/bufer:\nunknown]"},
		"denied":           {controlled("denied"), ""},
		"unchanged":        {controlled("unchanged"), ""},
		"an error":         {controlled("error"), ""},
		"a bare pod":       {body("web"), ""},
		"a dry run":        {strings.Replace(controlled("web"), `"dryRun":false`, `"dryRun":true`, 1), ""},
		"another resource": {strings.Replace(controlled("web"), `"resource":"pods"`, `"resource":"secrets"`, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, _ := testHandler(false)
			var got []string
			h.notify = func(n Notice) {
				got = append(got, fmt.Sprint(n.Namespace, " ", n.Owner.APIVersion, " ", n.Owner.Kind, " ", n.Owner.Name, " ", n.Owner.UID, " ", n.Injected, " ", n.Warnings))
			}
			parsed(t, post(h, c.text))
			if strings.Join(got, "|") != c.want {
				t.Errorf("notified of %q, want %q", got, c.want)
			}
		})
	}
}
