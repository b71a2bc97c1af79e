package inject

import (
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// planAll decides about every container with a JVM, and returns the reasons for
// leaving the pod alone.
func (m *mutation) planAll() []problem {
	for _, text := range m.wishes.warnings {
		m.warn("%s", text)
	}
	these, none := m.pod.jvmContainers(m.wishes.containers)
	if none != nil {
		return []problem{*none}
	}
	if these.warning != "" {
		m.warn("%s", these.warning)
	}
	var found []problem
	for i, index := range these.indexes {
		j, p := m.plan(index, i+1)
		if p != nil {
			found = append(found, *p)
			continue
		}
		m.jvms = append(m.jvms, j)
	}
	m.separateTmp()
	for _, j := range m.jvms {
		if p := m.planOptions(j); p != nil {
			found = append(found, *p)
		}
	}
	found = slices.Concat(found, problems(ask.BadAnnotation, m.planNamespace()), problems(ask.BadAnnotation, m.planPorts()), problems(ask.BadClaim, m.planDest()))
	if len(found) == 0 {
		m.warnDest()
		if text := m.pod.undrained(); text != "" {
			m.warn("%s", text)
		}
		if text := m.pod.hides(m.wishes.container.pullSecrets); text != "" {
			m.warn("%s", text)
		}
		m.warnScrape()
	}
	return found
}

// planDest finds the volume of the durable copy. A claim that the pod has
// already is taken as it is: a pod with two volumes of one claim never starts,
// as the kubelet waits for the second one for ever.
func (m *mutation) planDest() []string {
	m.destVolume = destVolume
	if name := m.wishes.dest.volume; name != "" {
		m.destVolume = name
		if why := m.pod.unwritable(name); why != "" {
			return []string{fmt.Sprintf("%s%s: the volume %.80q of the pod %s: use another one", ask.Prefix, destName, name, why)}
		}
	}
	for _, v := range m.pod.Spec.Volumes {
		claim := v.PersistentVolumeClaim
		if claim == nil || m.wishes.dest.claim == "" || claim.ClaimName != m.wishes.dest.claim {
			continue
		}
		if claim.ReadOnly {
			return []string{fmt.Sprintf("%s%s: the pod has the claim %s as volume %.80q, which is read-only: make it writable, or use another claim",
				ask.Prefix, destName, claim.ClaimName, v.Name)}
		}
		m.destVolume = v.Name
	}
	return nil
}

// planNamespace says why the containers of the pod can't see each other's
// processes.
func (m *mutation) planNamespace() []string {
	share := m.pod.Spec.ShareProcessNamespace
	switch {
	case m.wishes.attach != attach.ProcessNamespace:
	case m.pod.Spec.HostPID:
		return []string{ask.Prefix + attachName + ": with hostPID the sidecar would see the processes of the node: take shared-tmp or off"}
	case share != nil && !*share:
		return []string{ask.Prefix + attachName + ": the pod has shareProcessNamespace: false: leave that out, or take shared-tmp or off"}
	}
	return nil
}

// planPorts gives each sidecar an address: the wanted port, or the next one
// that no container declares.
func (m *mutation) planPorts() []string {
	if m.wishes.listen == admin.Off {
		return nil
	}
	if m.pod.Spec.HostNetwork && m.wishes.listen == "" {
		m.warn("metrics and status are off, because all pods of a node share its ports with hostNetwork: set %s%s to one that is free on all nodes, like :9929",
			ask.Prefix, listenName)
		return nil
	}
	host, port := m.wishes.address()
	taken := m.pod.ports()
	for _, j := range m.jvms {
		for taken[port] {
			port++
		}
		if port > 65535 {
			return []string{ask.Prefix + listenName + ": no port is left for the sidecar: take a lower one"}
		}
		j.host, j.port = host, port
		taken[port] = true
	}
	return nil
}

// warnDest says what may become of the durable copy. One that ends with the pod loses
// little where a sink has copied it.
func (m *mutation) warnDest() {
	kind := m.wishes.dest.endsIn(m.pod)
	if kind != "" && len(m.wishes.sidecar.Sinks.URLs) == 0 {
		m.warn("the durable copy ends with the pod (%s): set %s%s to pvc:CLAIM to keep it", kind, ask.Prefix, destName)
	}
	if forgetful(m.pod.volume(m.wishes.dest.volume)) {
		m.warn("the volume of %s%s is a directory of the node that is in memory: the durable copy ends with the node, and takes its memory: use one on a disk", ask.Prefix, destName)
	}
	if kind == "emptyDir" {
		return
	}
	if s := m.pod.Spec.SecurityContext; s == nil || s.FSGroup == nil {
		for _, j := range m.jvms {
			if j.uid == nil || *j.uid != 0 {
				m.warn("the volume of %s%s may be writable by root only: set fsGroup in the pod's securityContext", ask.Prefix, destName)
				return
			}
		}
	}
}
