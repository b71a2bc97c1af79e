package certs

import (
	"net/http"

	"github.com/ullage/ullage/internal/kube/kubeapi"
)

// The four requests. The role's resourceNames limit each request to one object.
var (
	getSecret          = kubeapi.Operation{Name: "get_secret", Method: http.MethodGet, Verb: "get", Resource: "secrets"}
	updateSecret       = kubeapi.Operation{Name: "update_secret", Method: http.MethodPut, Verb: "update", Resource: "secrets"}
	getConfiguration   = kubeapi.Operation{Name: "get_webhook_configuration", Method: http.MethodGet, Verb: "get", Resource: "mutatingwebhookconfigurations"}
	patchConfiguration = kubeapi.Operation{Name: "patch_webhook_configuration", Method: http.MethodPatch, Verb: "patch", Resource: "mutatingwebhookconfigurations"}
)

// operations are the label values of the metric.
var operations = []string{getSecret.Name, updateSecret.Name, getConfiguration.Name, patchConfiguration.Name}

// client reads and writes the Secret and the webhook configuration. It is not safe for concurrent use.
type client struct {
	*kubeapi.Client
	metrics metrics
}

func newClient(c kubeapi.Cluster, m metrics) (*client, error) {
	api, err := kubeapi.New(c, func(op kubeapi.Operation) { m.apiErrors.WithLabelValues(op.Name).Inc() })
	return &client{Client: api, metrics: m}, err
}
