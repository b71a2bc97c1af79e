// Package webhook is the injector's server: it takes what a Kubernetes API
// server asks about new pods, has a pure function decide, and answers. It also
// looks after the certificate that it serves with.
//
// # Answers
//
// A failing injector must not stop a pod from starting, and a person should
// learn why a pod has no sidecar. So whatever goes wrong, the answer is a valid
// one if at all possible: allowed, with an admission warning, or denied where
// that was asked for. What an API server does with each answer (1.34; under
// failurePolicy Ignore it goes on without us and tells nobody but its audit
// log, under Fail it refuses the pod and quotes the text):
//
//	what came                            what is answered               what the API server does
//	a review of a pod's creation         200, allowed, patch, warnings  applies the patch, shows the warnings
//	... as a dry run                     the same: nothing here has     shows what would be
//	                                     side effects
//	a review of anything else            200, allowed                   goes on
//	a pod that must not start            200, denied, 403               refuses the pod, shows the message
//	an error or a panic                  200, allowed, warning          goes on, shows the warning
//	... when errors deny                 200, denied, 500               refuses the pod, shows the message
//	a review over 3 MiB, broken or of    the same as for an error: the  the same
//	another version, with a legible uid  uid is in its first 64 KiB
//	the same without a legible uid       413 or 400                     failurePolicy
//	another kind of object               400                            failurePolicy
//	another content type, path, method   415, 404, 405                  failurePolicy
//	too many large reviews at once       503                            failurePolicy
//
// An answer without the right uid, or with a patch that is no list of
// operations, counts as none at all for the API server; so the first is never
// sent, and the second is an error here.
//
// # Bounds
//
// A header, a body, an answer and an idle connection each have a deadline, a
// review has a largest size, and there are largest numbers of connections, of
// large reviews and of decisions at a time. HTTP/1.1 is all that is spoken, as
// it is all that API servers speak to a webhook behind a Service.
//
// # Stopping
//
// A pod is told to stop while API servers still send it reviews. So for
// --shutdown-delay the server answers as before, but ends each connection that
// is used, and reports that it is not ready. It ends idle connections only
// after that, since a review may be on its way on any of them.
//
// # Certificates
//
// Either the user brings them as files (cert-manager does), which are taken
// again when they change, or the server makes its own: a CA and a serving
// certificate, in one Secret that all replicas share, and the CA in the
// caBundle of the webhook configuration. What replicas write depends on what
// they have read (resourceVersion), so the first one wins and the others take
// what is there.
//
// An API server must trust a CA before anything that it signed is served. So a
// new CA is first put in front of the old one in the Secret, and from there in
// the caBundle, while the old serving certificate stays in use. Only when it
// has been in the caBundle for a minute does it sign a serving certificate, and
// the old CA goes when that certificate has had a third of its life. By then
// every replica has long read the Secret again:
//
//	            ca.crt    tls.crt signed by
//	            A         A
//	rotate      B A       A
//	issue       B A       B
//	retire      B         B
//
// A process may be killed between any two of these steps; whoever reads the
// Secret next goes on from there. An unusable Secret is filled anew, and what a
// replica still serves with is put back, so that the others go on too. To
// distrust a CA at once, therefore, stop all replicas, empty the Secret, and
// start them.
//
// [Server.Run] is the only place that starts goroutines; it waits for all of
// them.
package webhook
