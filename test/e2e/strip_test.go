package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Another webhook, built with the types of an old Kubernetes version, drops the restartPolicy of init containers, as
// several widely used webhooks have done. The pod must start: with its sidecar if our webhook is called again after
// the other webhook, and without it if the other webhook is called last.
func TestAWebhookThatStripsTheRestartPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config, reinvocation string
		sidecar                    bool
	}{
		{"before ours, reinvoked", "aaa", "IfNeeded", true},
		{"after ours, asked once", "zzz", "Never", true},
		{"after ours, reinvoked", "zzz", "IfNeeded", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			w := newStripper(s, c.config+"-"+s.name, c.reinvocation)
			s.apply(jvmPod{Name: "app", JDK: 25}.manifest())
			if w.stripped.Load() == 0 {
				if onThisMachine() {
					t.Fatal("the API server does not call a webhook on this machine")
				}
				t.Skip("the API server does not reach a webhook on this machine")
			}
			s.ready("app")
			if policy := s.field("pod/app", `.spec.initContainers[0].restartPolicy`); (policy == "Always") != c.sidecar {
				t.Errorf("the sidecar's restartPolicy is %q, want Always: %t", policy, c.sidecar)
			}
			if status := s.field("pod/app", `.metadata.annotations.ullage\.dev/injected`); !strings.Contains(status, "restartPolicy") {
				t.Errorf("the pod's status does not mention the restartPolicy: %s", status)
			}
			if c.sidecar {
				s.eventually(time.Minute, "persisted lines", func() bool {
					out, err := s.tryExec("app", "ullage", "ullage", "logs", "/var/lib/ullage")
					return err == nil && strings.Contains(out, "[gc")
				})
			}
		})
	}
}

// The pods of a Deployment with a bad annotation say why they have no sidecar.
func TestAPodOfADeploymentSaysWhyItHasNoSidecar(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(manifest(object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "web"},
		"spec": object{"replicas": 1, "selector": object{"matchLabels": object{"app": "web"}},
			"template": jvmPodOfADeployment(jvmPod{Name: "web", JDK: 25, Annotations: map[string]string{"bufer": "64Mi"}})},
	}))
	s.kubectl("rollout", "status", "deployment/web", "--timeout=2m")
	if described := s.kubectl("describe", "pods", "-l", "app=web"); !strings.Contains(described, `did you mean \"ullage.dev/buffer\"?`) {
		t.Errorf("kubectl describe pod does not say why:\n%s", described)
	}
	s.eventually(time.Minute, "the injector's log has the owner", func() bool {
		out, err := kubectl("", "logs", "-n", system, injector, "--all-pods=true", "--since=5m")
		return err == nil && strings.Contains(out, "namespace="+s.name) && strings.Contains(out, "owner=deployment/web dry_run=false reason=annotation")
	})
}

func jvmPodOfADeployment(p jvmPod) object {
	template := p.template()
	template["spec"].(object)["restartPolicy"] = "Always"
	return template
}

// stripper is a webhook on this machine that removes the restartPolicy of init
// containers from the pods of one namespace.
type stripper struct{ stripped atomic.Int64 }

func newStripper(s *space, name, reinvocation string) *stripper {
	s.Helper()
	w := &stripper{}
	server := httptest.NewUnstartedServer(w)
	certificate, ca := stripperCertificate(s)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	s.Cleanup(server.Close)
	s.must(kubectl(manifest(object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": object{"name": name, "labels": object{madeKey: madeValue}},
		"webhooks": []any{object{
			"name": "strip.e2e.ullage.dev", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 30,
			"clientConfig":       object{"url": server.URL, "caBundle": base64.StdEncoding.EncodeToString(ca)},
			"namespaceSelector":  object{"matchLabels": object{"kubernetes.io/metadata.name": s.name}},
			"rules":              []any{object{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"CREATE"}}},
			"reinvocationPolicy": reinvocation,
		}},
	}), "create", "-f", "-"))
	s.Cleanup(func() { _, _ = kubectl("", "delete", "mutatingwebhookconfiguration", name) })
	// On an idle machine, an API server calls a new webhook after about a second.
	probe := jvmPod{Name: "probe", JDK: 25}.manifest()
	_ = wait(30*time.Second, func() bool {
		_, _ = kubectl(probe, "-n", s.name, "create", "-f", "-", "--dry-run=server")
		return w.stripped.Load() > 0
	})
	return w
}

func (w *stripper) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string `json:"uid"`
			Object struct {
				Spec struct {
					InitContainers []struct {
						RestartPolicy *string `json:"restartPolicy"`
					} `json:"initContainers"`
				} `json:"spec"`
			} `json:"object"`
		} `json:"request"`
	}
	_ = json.NewDecoder(r.Body).Decode(&review)
	patch := []object{}
	for i, c := range review.Request.Object.Spec.InitContainers {
		if c.RestartPolicy != nil {
			w.stripped.Add(1)
			patch = append(patch, object{"op": "remove", "path": fmt.Sprintf("/spec/initContainers/%d/restartPolicy", i)})
		}
	}
	text, _ := json.Marshal(patch)
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": object{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": text}})
}

func stripperCertificate(s *space) (tls.Certificate, []byte) {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
