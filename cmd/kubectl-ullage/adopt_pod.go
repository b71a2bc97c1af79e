package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
)

// adopterPrefix begins the names of the ephemeral containers that adopt a JVM.
const adopterPrefix = "ullage-adopt-"

// lookerPrefix begins the names of the ephemeral containers that look up a JVM's user.
const lookerPrefix = "ullage-look-"

// adopterName matches the names of such containers.
var adopterName = regexp.MustCompile(`^` + adopterPrefix + `[a-z0-9]{1,20}$`)

// adoptedDir is where such a container keeps the durable copy: in the image, every user may write to /tmp.
const adoptedDir = "/tmp/ullage-adopt"

// mainContainer is the annotation that names kubectl's default container.
const mainContainer = "kubectl.kubernetes.io/default-container"

// user is the user that a container runs as. A nil group is unknown.
type user struct {
	uid int64
	gid *int64
}

// parseUser reads UID or UID:GID.
func parseUser(text string) (user, error) {
	uid, gid, both := strings.Cut(text, ":")
	u, err := strconv.ParseUint(uid, 10, 31)
	got := user{uid: int64(u)}
	if err == nil && both {
		var g uint64
		g, err = strconv.ParseUint(gid, 10, 31)
		n := int64(g)
		got.gid = &n
	}
	if err != nil {
		return user{}, fmt.Errorf("%q is not of the form UID:GID, in digits", text)
	}
	return got, nil
}

// adoptable is a pod with a JVM to adopt. It keeps the whole object of the API server: an update must not lose fields
// that this program does not know.
type adoptable struct {
	pod
	tree map[string]any
}

// getAdoptable gets a pod.
func getAdoptable(ctx context.Context, c cluster, name string) (adoptable, error) {
	out, err := c.get(ctx, target{podKind, name})
	if err != nil {
		return adoptable{}, err
	}
	var a adoptable
	if err := decodeBoth(out, &a.pod, &a.tree); err != nil {
		return adoptable{}, err
	}
	if m := a.Metadata; !dnsName.MatchString(m.Name) || !dnsName.MatchString(m.Namespace) {
		return adoptable{}, fmt.Errorf("the API server returned a pod with the name %s/%s", printable.Name(m.Namespace), printable.Name(m.Name))
	}
	return a, nil
}

// jvm returns the name of the JVM's container: the given container, kubectl's default container, or
// the first container that is not a sidecar.
func (a adoptable) jvm(given string) (string, error) {
	var names []string
	for _, one := range a.Spec.Containers {
		if !isSidecar(one) {
			names = append(names, one.Name)
		}
	}
	for _, name := range []string{given, a.Metadata.Annotations[mainContainer]} {
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	if given != "" || len(names) == 0 {
		return "", fmt.Errorf("it has no container %q that may run a JVM: it has %s", given, strings.Join(names, ", "))
	}
	return names[0], nil
}

// adopter returns the container that is adopting a JVM of the pod now, or else one that is about to, or nil. A container
// that waits for a reason not in beginning, such as an image that cannot be pulled, is ignored: it may never begin.
func (a adoptable) adopter() *container {
	states := map[string]containerStatus{}
	for _, st := range a.Status.EphemeralContainerStatuses {
		states[st.Name] = st
	}
	var begins *container
	for _, one := range a.Spec.EphemeralContainers {
		state := states[one.Name].State
		switch {
		case !adopterName.MatchString(one.Name) || state.Terminated != nil:
		case state.Running != nil:
			return &one
		case state.Waiting == nil, slices.Contains(beginning, state.Waiting.Reason):
			begins = &one
		}
	}
	return begins
}

// beginning lists the reasons that a waiting container reports while its image is pulled.
var beginning = []string{"ContainerCreating", "PodInitializing"}

// check returns why no JVM of the pod can be adopted, or nil.
func (a adoptable) check(jvm string) error {
	if a.Spec.HostPID {
		return errors.New("it sees the processes of its node (hostPID): run 'ullage adopt' on the node")
	}
	for _, st := range a.Status.ContainerStatuses {
		if st.Name == jvm && st.State.Running != nil {
			return nil
		}
	}
	return fmt.Errorf("its container %s does not run", jvm)
}

// userOf returns the user and the group that a container runs as, from its spec or else from the node, which reports
// them only in Kubernetes 1.33 or later, and not with all runtimes. If only the image names one of them, both are
// unknown, because a process that attaches to a JVM must have both. Root's group need not be named: it is 0.
func (a adoptable) userOf(name string) (who user, known bool) {
	all := []securityContext{a.Spec.SecurityContext}
	for _, one := range a.Spec.Containers {
		if one.Name == name {
			all = append(all, one.SecurityContext)
		}
	}
	var uid, gid *int64
	take := func(u, g *int64) {
		if u != nil {
			uid = u
		}
		if g != nil {
			gid = g
		}
	}
	for _, st := range a.Status.ContainerStatuses {
		if l := st.User.Linux; st.Name == name && l != nil {
			take(&l.UID, &l.GID)
		}
	}
	for _, sc := range all {
		take(sc.RunAsUser, sc.RunAsGroup)
	}
	if uid == nil || gid == nil && *uid != 0 {
		return user{}, false
	}
	return user{*uid, gid}, true
}

// hardened returns the security context of the new container. It meets the policy "restricted", unless the JVM runs
// as root: Linux lets only a process with the JVM's capabilities inspect a JVM.
func (a adoptable) hardened(jvm string, u user) map[string]any {
	sc := map[string]any{
		"runAsUser":                u.uid,
		"runAsNonRoot":             u.uid != 0,
		"allowPrivilegeEscalation": false,
		"capabilities":             map[string]any{"drop": []string{"ALL"}},
		"seccompProfile":           map[string]any{"type": "RuntimeDefault"},
	}
	if u.gid != nil {
		sc["runAsGroup"] = *u.gid
	}
	for _, one := range a.Spec.Containers {
		if one.Name != jvm {
			continue
		}
		if its := one.SecurityContext; u.uid == 0 {
			delete(sc, "capabilities")
			if its.Capabilities != nil {
				sc["capabilities"] = its.Capabilities
			}
		}
		if one.SecurityContext.SELinuxOptions != nil {
			sc["seLinuxOptions"] = one.SecurityContext.SELinuxOptions
		}
	}
	return sc
}

// newName returns a name that no container of the pod has.
func newName(prefix string, now time.Time) string {
	return prefix + strconv.FormatInt(now.UnixMilli(), 36)
}

// with returns the pod with another ephemeral container, as the body of an update.
func (a adoptable) with(one map[string]any) ([]byte, error) {
	spec, _ := a.tree["spec"].(map[string]any)
	meta, _ := a.tree["metadata"].(map[string]any)
	if spec == nil || meta == nil {
		return nil, errors.New("the pod has no spec")
	}
	there, _ := spec["ephemeralContainers"].([]any)
	spec["ephemeralContainers"] = append(slices.Clip(there), one)
	// The update has no resourceVersion, because the status of a pod changes often, and the API server refuses
	// changes to existing containers anyway.
	delete(meta, "resourceVersion")
	body, err := json.Marshal(a.tree)
	spec["ephemeralContainers"] = there
	if err != nil {
		return nil, fmt.Errorf("encode the pod: %w", err)
	}
	return body, nil
}

// add makes the API server add an ephemeral container to the pod. The first request is a dry run, which changes
// nothing but is checked by every policy of the cluster.
func (a adoptable) add(ctx context.Context, c cluster, one map[string]any) error {
	body, err := a.with(one)
	if err != nil {
		return err
	}
	if err := mayExec(ctx, c); err != nil {
		return err
	}
	path := "/api/v1/namespaces/" + a.Metadata.Namespace + "/pods/" + a.Metadata.Name + "/ephemeralcontainers"
	replace := func(query string) error {
		_, err := c.runWith(ctx, bytes.NewReader(body), maxPods, "replace", "--raw="+path+query, "--filename=-")
		return err
	}
	if err := replace("?dryRun=All"); err != nil {
		return fmt.Errorf("the cluster refused the container; nothing was changed: %w%s", err, refusalHint(err))
	}
	if err := replace(""); err != nil { // the request may have succeeded even if its answer is lost
		return fmt.Errorf("add the container: %w%s", err, refusalHint(err))
	}
	return nil
}

// refusalHint returns what to do about a refusal.
func refusalHint(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "cannot update resource"):
		return " (it needs the right to update pods/ephemeralcontainers)"
	case strings.Contains(text, "violates PodSecurity"):
		return " (for a JVM that runs as root, the namespace's policy must allow root)"
	}
	return ""
}

// mayExec returns an error unless the user has the right to exec in pods, which is needed to fetch the copy.
func mayExec(ctx context.Context, c cluster) error {
	out, err := c.run(ctx, maxStatus, "auth", "can-i", "create", "pods", "--subresource=exec")
	var no *exec.ExitError // kubectl failed without an error message, as it does if the answer is no
	if err != nil && !errors.As(err, &no) {
		return fmt.Errorf("nothing was changed: check the right to exec in pods: %w", err)
	}
	if strings.TrimSpace(string(out)) != "yes" {
		return errors.New("nothing was changed: to fetch the shipped lines you need the right to exec in pods (create pods/exec)")
	}
	return nil
}
