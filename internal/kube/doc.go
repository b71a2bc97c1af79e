// Package kube is what runs in a cluster apart from the pods, and is never linked into
// the sidecar.
//
//   - inject: a pod becomes a patch, checked by the settings of the sidecar itself
//   - webhook: the server of the admission reviews
//   - certs: its certificate
//   - kubeapi: the few calls of the API server: certificates and Events
package kube
