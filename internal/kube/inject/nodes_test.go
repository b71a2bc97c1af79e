package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// A pod never starts if its native sidecar has no image for the node.
func TestAPodForOtherNodesIsRefused(t *testing.T) {
	term := func(expressions ...any) object { return object{"matchExpressions": expressions} }
	affinity := func(terms ...any) object {
		return object{"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": terms}}}}
	}
	label := func(key, operator string, values ...string) object {
		return object{"key": "kubernetes.io/" + key, "operator": operator, "values": values}
	}
	for name, c := range map[string]struct {
		spec object
		says string // empty: the pod is injected
	}{
		"nothing said":                     {object{}, ""},
		"s390x":                            {object{"nodeSelector": object{"kubernetes.io/arch": "s390x"}}, ""},
		"riscv64":                          {object{"nodeSelector": object{"kubernetes.io/arch": "riscv64"}}, "architecture"},
		"riscv64 by affinity":              {affinity(term(label("arch", "In", "riscv64", "loong64"))), "architecture"},
		"one of two by affinity":           {affinity(term(label("arch", "In", "riscv64", "arm64"))), ""},
		"one of two terms":                 {affinity(term(label("arch", "In", "riscv64")), term(label("zone", "Exists"))), ""},
		"each term":                        {affinity(term(label("arch", "In", "riscv64")), term(label("arch", "In", "loong64"), label("zone", "Exists"))), "architecture"},
		"two expressions of one term":      {affinity(term(label("arch", "In", "arm64", "riscv64"), label("arch", "NotIn", "arm64"))), "architecture"},
		"not amd64":                        {affinity(term(label("arch", "NotIn", "amd64"))), ""},
		"a preference":                     {object{"affinity": object{"nodeAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": []any{object{"weight": 1, "preference": term(label("arch", "In", "riscv64"))}}}}}, ""},
		"Windows by spec.os":               {object{"os": object{"name": "windows"}}, "Windows"},
		"Windows by affinity":              {affinity(term(label("os", "In", "windows"))), "Windows"},
		"Windows by windowsOptions":        {object{"securityContext": object{"windowsOptions": object{"runAsUserName": "x"}}}, "Windows"},
		"Windows by a container's options": {object{"containers": []any{object{"name": "app", "securityContext": object{"windowsOptions": object{"hostProcess": true}}}}}, "Windows"},
		"Linux by affinity":                {affinity(term(label("os", "In", "linux"))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.spec["containers"] == nil {
				c.spec["containers"] = []any{object{"name": "app"}}
			}
			pod, err := json.Marshal(object{"spec": c.spec})
			if err != nil {
				t.Fatal(err)
			}
			res := mutate(t, pod, testConfig())
			checkInvariants(t, pod, res, testConfig())
			said := strings.Join(res.Warnings, "\n")
			if res.Injected != (c.says == "") || c.says != "" && (res.Refused != ask.Unsuitable || !strings.Contains(said, c.says)) {
				t.Errorf("injected %v, refused %q:\n%s\nwant %q (empty: injected)", res.Injected, res.Refused, said, c.says)
			}
		})
	}
}
