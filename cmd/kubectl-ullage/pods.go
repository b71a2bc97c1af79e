package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// maxPods limits kubectl's output about all pods: ten thousand pods are about 60 MiB.
const maxPods = 128 << 20

// pod has the relevant fields of a pod, as `kubectl get -o json` prints it.
type pod struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		InitContainers []container `json:"initContainers"`
		Containers     []container `json:"containers"`

		EphemeralContainers []container `json:"ephemeralContainers"`

		HostPID         bool            `json:"hostPID"`
		SecurityContext securityContext `json:"securityContext"`
		Resources       resources       `json:"resources"` // of the pod as a whole
		Volumes         []volume        `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase                 string            `json:"phase"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`

		EphemeralContainerStatuses []containerStatus `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Created     time.Time         `json:"creationTimestamp"`

	OwnerReferences []struct {
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
}

type container struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"` // empty if it comes from elsewhere
	} `json:"env"`
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"volumeMounts"`
	Resources       resources       `json:"resources"`
	SecurityContext securityContext `json:"securityContext"`
	Target          string          `json:"targetContainerName"` // of an ephemeral container
}

type resources struct {
	Limits map[string]string `json:"limits"`
}

type volume struct {
	Name     string `json:"name"`
	EmptyDir *struct {
		SizeLimit string `json:"sizeLimit"`
	} `json:"emptyDir"`
}

// securityContext has the relevant fields of the security context of a pod or a container.
type securityContext struct {
	RunAsUser      *int64          `json:"runAsUser"`
	RunAsGroup     *int64          `json:"runAsGroup"`
	Capabilities   json.RawMessage `json:"capabilities"`
	SELinuxOptions json.RawMessage `json:"seLinuxOptions"`
}

type containerStatus struct {
	Name         string `json:"name"`
	Ready        bool   `json:"ready"`
	RestartCount int    `json:"restartCount"`
	State        struct {
		Running    *struct{} `json:"running"`
		Waiting    *stopped  `json:"waiting"`
		Terminated *stopped  `json:"terminated"`
	} `json:"state"`
	LastState struct {
		Terminated *stopped `json:"terminated"`
	} `json:"lastState"` // state of the previous run
	User struct {
		Linux *struct {
			UID int64 `json:"uid"`
			GID int64 `json:"gid"`
		} `json:"linux"` // nil: the node does not report it
	} `json:"user"`
}

// end returns how the container last ended, or nil if it has not ended. While the container runs or waits to run again,
// only LastState shows how its previous run ended.
func (st *containerStatus) end() *stopped {
	return cmp.Or(st.State.Terminated, st.LastState.Terminated)
}

type stopped struct {
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	ExitCode int       `json:"exitCode"`
	Finished time.Time `json:"finishedAt"`
}

// recently is how long the end of a JVM, or of a container that was killed, is shown as a problem. A sidecar's status
// keeps a past error of the destination for the same time.
const recently = time.Hour

// exitSigkill is the exit code of a container that was killed.
const exitSigkill = 128 + 9

// killed describes in a few words a container of the application that was killed within the last hour. The text is
// empty if none was killed.
func (p pod) killed(now time.Time) string {
	for _, st := range p.Status.ContainerStatuses {
		end := st.end()
		if end == nil || sidecarName.MatchString(st.Name) || now.Sub(end.Finished) > recently {
			continue
		}
		if end.Reason == oomKilled || end.ExitCode == exitSigkill {
			return fmt.Sprintf("container %s ended with exit code %d (%s)", st.Name, end.ExitCode, cmp.Or(end.Reason, "no reason given"))
		}
	}
	return ""
}

// Reasons for the end of a container.
const (
	oomKilled     = "OOMKilled"              // the kernel killed it for lack of memory
	statusUnknown = "ContainerStatusUnknown" // the kubelet has lost track of it, and records exit code 137
)

func (p pod) ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// ready reports whether every container of the pod is ready.
func (p pod) ready() bool {
	for _, st := range p.Status.ContainerStatuses {
		if !st.Ready {
			return false
		}
	}
	return len(p.Status.ContainerStatuses) > 0
}

// pods returns the named pods that exist or, without names, all pods that the flags select.
func (c cluster) pods(ctx context.Context, names []string) ([]pod, error) {
	args := []string{"get", "--output=json", "--ignore-not-found"}
	if len(names) == 0 {
		args = append(args, "pods")
	}
	if c.all {
		args = append(args, "--all-namespaces")
	}
	if c.selector != "" {
		args = append(args, "--selector="+c.selector)
	}
	for _, name := range names {
		args = append(args, "pod/"+name)
	}
	out, err := c.run(ctx, maxPods, args...)
	if err != nil {
		return nil, fmt.Errorf("get pods: %w", err)
	}
	return parsePods(out)
}

// parsePods reads one pod, a list of them, or nothing.
func parsePods(text []byte) ([]pod, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil, nil
	}
	var got struct {
		Kind  string `json:"kind"`
		Items []pod  `json:"items"`
		pod
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("get pods: decode the output of kubectl: %w", err)
	}
	if got.Kind == "Pod" {
		return []pod{got.pod}, nil
	}
	return got.Items, nil
}

// sidecarName matches the names that the injector gives its sidecars.
var sidecarName = regexp.MustCompile(`^ullage(-[0-9]+)?$`)

// isSidecar reports whether a container is a sidecar, by its name and by its image or command line.
func isSidecar(c container) bool {
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	return sidecarName.MatchString(c.Name) && (image == "ullage" || slices.Contains(c.Args, "run") || slices.Contains(c.Command, "run"))
}

// sidecars returns the sidecars of a pod, in the order of the pod's spec, init containers first.
func (c cluster) sidecars(p pod) []sidecar {
	var found []sidecar
	injected, _ := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	for _, one := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if isSidecar(one) {
			s := sidecar{cluster: c.in(p.Metadata.Namespace), pod: p.Metadata.Name, container: one}
			s.down, s.warnings = whyDown(p, one.Name), injected.Warnings
			_, s.raising = p.Metadata.Annotations[logKey]
			s.ended, s.killed = p.ended(), p.killed(time.Now())
			found = append(found, s)
		}
	}
	for i := range found {
		found[i].several = len(found) > 1
	}
	return found
}

// whyDown returns why the container does not run, or nothing if it runs.
func whyDown(p pod, name string) string {
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case st.Name != name:
		case st.State.Running != nil:
			return ""
		case st.State.Terminated != nil:
			return "the sidecar has ended: " + st.State.Terminated.Reason
		case st.State.Waiting != nil:
			return "the sidecar does not run: " + st.State.Waiting.Reason
		}
	}
	return "the sidecar is not running: the pod is " + p.Status.Phase
}

// errNoSidecar is the error for a named pod that has no sidecar.
var errNoSidecar = errors.New(`it has no ullage sidecar: label its template ullage.dev/inject: "true", and recreate the pod`)

// the returns the pod with the given name, or an error that wraps errNoPod if no such pod exists.
func (c cluster) the(ctx context.Context, name string) (pod, error) {
	pods, err := c.pods(ctx, []string{name})
	if err != nil {
		return pod{}, err
	}
	if len(pods) == 0 {
		return pod{}, fmt.Errorf("pod %s: %w", name, errNoPod)
	}
	return pods[0], nil
}

// running returns the sidecars of one pod. It fails unless all of them run.
func (c cluster) running(p pod) ([]sidecar, error) {
	found := c.sidecars(p)
	if len(found) == 0 {
		return nil, fmt.Errorf("pod %s: %w", printable.Line(p.Metadata.Name), errNoSidecar)
	}
	for _, s := range found {
		if s.down != "" {
			return nil, fmt.Errorf("pod %s: %s", s, s.down)
		}
	}
	return found, nil
}

// errNoPod is the error for a name that no pod has.
var errNoPod = errors.New("there is no such pod in the namespace: see 'kubectl get pods'")

var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
