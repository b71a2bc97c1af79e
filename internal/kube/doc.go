// Package kube holds the packages of the injector, which are never linked into the
// sidecar.
//
//   - inject: creates the patch for a pod; it checks settings with the sidecar's own code
//   - webhook: the server that answers admission reviews
//   - certs: the certificate of that server
//   - names: which names Kubernetes accepts, and how much untrusted text is shown
//   - kubeapi: the few requests to the API server, for certificates and Events
package kube
