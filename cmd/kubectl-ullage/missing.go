package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// The injector's own pods have this label.
const (
	injectorLabel = "app.kubernetes.io/name"
	injectorName  = "ullage-injector"
)

// mirrorMark is the annotation of pods for which no webhook is called.
const mirrorMark = "kubernetes.io/config.mirror"

// enabledNamespaces returns the namespaces in which all pods get a sidecar. Without the right to list namespaces, it
// returns nothing.
func (c cluster) enabledNamespaces(ctx context.Context) map[string]bool {
	out, err := c.run(ctx, maxPods, "get", "namespaces", "--output=json", "--ignore-not-found", "--selector="+ask.NamespaceLabel+"="+ask.NamespaceEnabled)
	if err != nil {
		return nil
	}
	var list struct {
		Items []struct {
			Metadata metadata `json:"metadata"`
		} `json:"items"`
	}
	_ = json.Unmarshal(out, &list)
	enabled := map[string]bool{}
	for _, ns := range list.Items {
		enabled[ns.Metadata.Name] = true
	}
	return enabled
}

// asks reports whether a pod without a sidecar should have one.
func (p pod) asks(enabled map[string]bool) bool {
	label := p.Metadata.Labels[ask.InjectLabel]
	switch {
	case p.ended(),
		label == "false" || p.Metadata.Annotations[ask.InjectLabel] == "false",
		p.Metadata.Annotations[mirrorMark] != "",
		p.Metadata.Namespace == "kube-system",
		p.Metadata.Labels[injectorLabel] == injectorName:
		return false
	case label == "true":
		return true
	}
	s, err := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	return enabled[p.Metadata.Namespace] && (err != nil || s.Refused != ask.Unsuitable)
}

// whyMissing returns why a pod that asks for a sidecar has none.
func (p pod) whyMissing() error {
	s, err := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	if err == nil && s.Refused != "" {
		return errors.New("not injected: " + strings.Join(s.Errors, "; "))
	}
	return fmt.Errorf("it asks for a sidecar but has none: see 'kubectl ullage doctor %s'", p.Metadata.Name)
}
