// Package webhook is the injector's server. It reads an API server's review of a
// new pod, calls a pure function that decides, and answers. Package certs
// provides its certificate.
//
// # Answers
//
// A failing injector must not stop a pod from starting, and a person should
// learn why a pod has no sidecar. So the server gives a valid answer whenever it
// can: allowed, with an admission warning, or denied if errors are to deny. What
// an API server does with each answer (1.34; under failurePolicy Ignore it
// continues without the answer and records that in its audit log only, under
// Fail it refuses the pod and quotes the text):
//
//	what came                            the answer                     what the API server does
//	a review of a pod's creation         200, allowed, patch, warnings  applies the patch, shows the warnings
//	... as a dry run                     the same: the server has no    shows the result
//	                                     side effects
//	a review of anything else            200, allowed                   continues
//	a pod that must not start            200, denied, 403               refuses the pod, shows the message
//	an error or a panic                  200, allowed, warning          continues, shows the warning
//	... when errors deny                 200, denied, 500               refuses the pod, shows the message
//	a review over 3 MiB or 20,000        the same as for an error: the  the same
//	elements, broken or of another       uid is in its first 64 KiB
//	version, with a legible uid
//	the same without a legible uid       413 or 400                     failurePolicy
//	another kind of object               400                            failurePolicy
//	another content type, path, method   415, 404, 405                  failurePolicy
//	another large review takes too long  503                            failurePolicy
//
// An API server ignores an answer without the right uid, and an answer whose
// patch is not a list of operations. So the server treats the second as an
// error and never sends the first.
//
// # Bounds
//
// A header, a body, an answer and an idle connection each have a deadline. A
// review has a largest size and a largest number of elements, which is counted
// before anything is decoded: 300 KB of "{}," would be a hundred megabytes of
// containers. Large reviews are in memory one at a time. Decisions wait for one
// another if together they could take more memory than they may. The number of
// connections is bounded. The server speaks HTTP/1.1 only: API servers use
// nothing else for the webhook of a Service.
//
// # Stopping
//
// API servers still send reviews to a pod that was told to stop. So for
// --shutdown-delay the server answers as before, but ends each connection after
// its next answer, and reports that it is not ready. It closes idle connections
// only after that, since a review may be on its way on any of them.
//
// [Server.Run] is the only place that starts goroutines; it waits for all of
// them.
package webhook
