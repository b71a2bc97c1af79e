package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// With the policy, the injector's account can still write the caBundle, but cannot change anything else in the
// object that RBAC lets it patch.
func TestTheAccountIsHeldToTheCABundle(t *testing.T) {
	s := newSpace(t)
	policy := s.must(helm(append([]string{"template", release, chart, "-n", system, "--show-only", "templates/accountpolicy.yaml", "--kube-version", "1.30.0", "--set", "accountPolicy.enabled=true"}, chartValues()...)...))
	s.must(kubectl(policy, "apply", "-f", "-")) // the policy of an earlier run may still exist
	t.Cleanup(func() { _, _ = kubectl(policy, "delete", "-f", "-") })
	const account, object = "--as=system:serviceaccount:" + system + ":ullage-injector", "mutatingwebhookconfiguration/ullage-injector"
	patch := func(text string) error {
		_, err := kubectl("", account, "patch", object, "--type=json", "--patch", text)
		return err
	}
	// Until the policy takes effect on the API server, changes succeed. A change without effect would prove
	// nothing, so each attempt makes a different change.
	t.Cleanup(func() { _, _ = kubectl("", "label", object, "e2e-try-") })
	s.eventually(time.Minute, "the policy is in force", func() bool {
		err := patch(fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/e2e-try","value":"%d"}]`, time.Now().UnixNano()))
		return err != nil && strings.Contains(err.Error(), "may change the caBundle, and nothing else")
	})
	for _, text := range []string{
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`,
		`[{"op":"replace","path":"/webhooks/1/rules/0/resources/0","value":"*"}]`,
		`[{"op":"remove","path":"/webhooks/1"}]`,
		`[{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]`,
		`[{"op":"replace","path":"/webhooks/0/clientConfig/service/name","value":"other"}]`,
		`[{"op":"add","path":"/metadata/labels/x","value":"y"}]`,
		`[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`,
	} {
		if err := patch(text); err == nil || !strings.Contains(err.Error(), "nothing else") {
			t.Errorf(`%s: the error of the patch is %v, want "nothing else" in it`, text, err)
		}
	}
	// If another client removes the caBundle, the account writes it again.
	s.must(kubectl("", "patch", object, "--type=json", "--patch", `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`))
	s.eventually(90*time.Second, "the caBundle is there again", func() bool {
		out, err := kubectl("", "get", object, "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
		return err == nil && out != ""
	})
}
