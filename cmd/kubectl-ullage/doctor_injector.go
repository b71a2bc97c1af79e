package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// hookName is the name of the webhook for labelled pods.
const hookName = "pod.injector.ullage.dev"

// hooks has what the API server shows about the injector.
type hooks struct {
	err     error // why the webhook configurations are unknown
	configs []hookConfig

	pods    []pod // of the injector
	podsErr error
	status  *injectorStatus // of one of them; nil: unknown
}

type hookConfig struct {
	Metadata metadata `json:"metadata"`
	Webhooks []hook   `json:"webhooks"`
}

type hook struct {
	Name         string `json:"name"`
	ClientConfig struct {
		CABundle []byte `json:"caBundle"`
		Service  *struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"service"`
	} `json:"clientConfig"`
	NamespaceSelector labelSelector `json:"namespaceSelector"`
	ObjectSelector    labelSelector `json:"objectSelector"`
}

// injectorStatus is the injector's /status.
type injectorStatus struct {
	Version           string    `json:"version"`
	Ready             bool      `json:"ready"`
	Reason            string    `json:"reason"`
	CertificateExpiry time.Time `json:"certificateExpiry"`
}

// labelSelector selects as an API server does.
type labelSelector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}

func (s labelSelector) matches(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if got, there := labels[key]; !there || got != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		value, there := labels[e.Key]
		in := there && slices.Contains(e.Values, value)
		if e.Operator == "In" && !in || e.Operator == "NotIn" && in || e.Operator == "Exists" && !there || e.Operator == "DoesNotExist" && there {
			return false
		}
	}
	return true
}

// String returns the selector in kubectl's syntax. It is empty for an empty selector, which selects everything, and for
// the missing selector of a workload, which selects nothing.
func (s labelSelector) String() string {
	var terms []string
	for key, value := range s.MatchLabels {
		terms = append(terms, key+"="+value)
	}
	slices.Sort(terms)
	for _, e := range s.MatchExpressions {
		switch e.Operator {
		case "In", "NotIn":
			terms = append(terms, fmt.Sprintf("%s %s (%s)", e.Key, strings.ToLower(e.Operator), strings.Join(e.Values, ",")))
		case "Exists":
			terms = append(terms, e.Key)
		case "DoesNotExist":
			terms = append(terms, "!"+e.Key)
		}
	}
	return strings.Join(terms, ",")
}

// hooks gets the webhook configurations with our webhook.
func (c cluster) hooks(ctx context.Context) hooks {
	out, err := c.run(ctx, maxPods, "get", "mutatingwebhookconfigurations", "--output=json")
	if err != nil {
		return hooks{err: err}
	}
	var list struct {
		Items []hookConfig `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return hooks{err: fmt.Errorf("decode the output of kubectl: %w", err)}
	}
	var h hooks
	for _, config := range list.Items {
		if slices.ContainsFunc(config.Webhooks, func(w hook) bool { return w.Name == hookName }) {
			h.configs = append(h.configs, config)
		}
	}
	return h
}

// namespaceName returns the namespace of the injector, or nothing if it is unknown.
func (h *hooks) namespaceName() string {
	if len(h.configs) == 0 || h.configs[0].Webhooks[0].ClientConfig.Service == nil {
		return ""
	}
	return h.configs[0].Webhooks[0].ClientConfig.Service.Namespace
}

// look lists the injector's pods and asks one of them for its status.
func (h *hooks) look(ctx context.Context, c cluster) {
	ns := h.namespaceName()
	if ns == "" {
		return
	}
	c = c.in(ns)
	c.selector = injectorLabel + "=" + injectorName
	if h.pods, h.podsErr = c.pods(ctx, nil); h.podsErr != nil {
		return
	}
	for _, p := range h.pods {
		if !p.ready() {
			continue
		}
		out, err := c.run(ctx, maxStatus, "get", "--raw", "/api/v1/namespaces/"+ns+"/pods/"+p.Metadata.Name+":9919/proxy/status")
		var st injectorStatus
		if err == nil && json.Unmarshal(out, &st) == nil {
			h.status = &st
		}
		return // one pod is enough, and few users have the right to query it
	}
}

func (h *hooks) findings() []finding {
	switch {
	case h.err != nil:
		return []finding{{markUnknown, "the injector's webhook: " + h.err.Error(), ""}}
	case len(h.configs) == 0:
		return []finding{{markProblem, "no injector is installed: no MutatingWebhookConfiguration has the webhook " + hookName,
			"helm install ullage charts/ullage --set registry=REGISTRY --namespace ullage-system --create-namespace --wait"}}
	}
	var all []finding
	if len(h.configs) > 1 {
		var names []string
		for _, config := range h.configs {
			names = append(names, config.Metadata.Name)
		}
		all = append(all, finding{markProblem, "several injectors are installed: " + strings.Join(names, ", "), "uninstall all but one"})
	}
	all = append(all, h.configs[0].bundle()...)
	return append(all, h.podFindings()...)
}

// bundle judges the CA with which API servers verify the injector.
func (config hookConfig) bundle() []finding {
	name := "the MutatingWebhookConfiguration " + config.Metadata.Name
	var all []finding
	for _, w := range config.Webhooks {
		expiry, certificates := time.Time{}, 0
		for block, rest := pem.Decode(w.ClientConfig.CABundle); block != nil; block, rest = pem.Decode(rest) {
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				certificates++
				if cert.NotAfter.After(expiry) {
					expiry = cert.NotAfter
				}
			}
		}
		switch {
		case certificates == 0:
			all = append(all, finding{markProblem, fmt.Sprintf("%s has no CA for %s, so API servers do not trust the injector", name, w.Name),
				"see the injector's log: it, or cert-manager, writes the caBundle"})
		case time.Now().After(expiry):
			all = append(all, finding{markProblem, fmt.Sprintf("the CA for %s in %s expired on %s", w.Name, name, expiry.Format(time.DateOnly)),
				"see the injector's log: it, or cert-manager, writes the caBundle"})
		}
	}
	return all
}

func (h *hooks) podFindings() []finding {
	ns := h.namespaceName()
	hint := "kubectl logs --namespace " + ns + " --selector " + injectorLabel + "=" + injectorName
	ready, images := 0, []string{}
	for _, p := range h.pods {
		if p.ready() {
			ready++
		}
		for _, c := range p.Spec.Containers {
			if !slices.Contains(images, c.Image) {
				images = append(images, c.Image)
			}
		}
	}
	var all []finding
	switch {
	case ns == "":
		return []finding{{markNote, "the webhook is called by URL, not through a Service: its pods were not checked", ""}}
	case h.podsErr != nil:
		all = append(all, finding{markUnknown, "the injector's pods: " + h.podsErr.Error(), ""})
	case ready == 0:
		all = append(all, finding{markProblem, fmt.Sprintf("no injector is ready in namespace %s (%d pods): new pods start without a sidecar", ns, len(h.pods)), hint})
	default:
		all = append(all, finding{markOK, fmt.Sprintf("%d of %d injectors are ready in namespace %s: %s", ready, len(h.pods), ns, strings.Join(images, ", ")), ""})
	}
	if st := h.status; st != nil {
		if !st.Ready {
			all = append(all, finding{markProblem, "the injector is not ready: " + st.Reason, hint})
		}
		if !st.CertificateExpiry.IsZero() && time.Now().After(st.CertificateExpiry) {
			all = append(all, finding{markProblem, "the injector's certificate expired on " + st.CertificateExpiry.Format(time.DateOnly), hint})
		}
	}
	return all
}
