// Package webhook is the injector's server. It reads an API server's review of a
// new pod, gets the decision from a pure function, and answers the review. Package
// certs provides the server's certificate.
//
// # Answers
//
// A failing injector must not stop a pod from starting, and a person should learn why a pod has no sidecar.
// So the server gives a valid answer whenever it can: allowed, with an admission warning, or denied if
// DenyOnError is set. The table lists what an API server (1.34) does with each answer. If there is no valid
// answer, the API server continues under failurePolicy Ignore, with a record only in its audit log. Under
// Fail, it refuses the pod and quotes the text of the HTTP error.
//
//	the request                          the answer                     what the API server does
//	a review of a pod's creation         200, allowed, patch, warnings  applies the patch, shows the warnings
//	... as a dry run                     the same: the server has no    shows the result
//	                                     side effects
//	a review of anything else            200, allowed                   continues
//	a pod that must not start            200, denied, 403               refuses the pod, shows the message
//	an error or a panic                  200, allowed, warning          continues, shows the warning
//	... with DenyOnError                 200, denied, 500               refuses the pod, shows the message
//	a review over 3 MiB or 20,000        the same as for an error: the  the same
//	elements, broken or of another       uid is in its first 64 KiB
//	version, with a legible uid
//	the same without a legible uid       413 or 400                     failurePolicy
//	another kind of object               400                            failurePolicy
//	another content type, path, method   415, 404, 405                  failurePolicy
//	waited too long for a large review   503                            failurePolicy
//
// An API server ignores an answer without the right uid, and an answer whose patch is not a list of
// operations. So the server never sends an answer without the uid, and treats such a patch as an error.
//
// # Bounds
//
// Headers, bodies, answers and idle connections each have a deadline. The size of a review and the number
// of its elements are bounded. The elements are counted before the review is decoded: 300 KB of "{}," would
// become a hundred megabytes of containers. Only one large review is in memory at a time. Decisions wait
// for one another if together they could exceed the bound on their memory. The number of connections is
// bounded. The server speaks only HTTP/1.1: API servers use no other version for the webhook of a Service.
//
// # Stopping
//
// API servers still send reviews to a pod that is terminating. So for --shutdown-delay the server continues
// to answer, but ends each connection after its next answer and reports that it is not ready. It closes
// idle connections only after that delay, because a review may already be on its way on any of them.
//
// Only [Server.Run] starts goroutines; it waits for all of them.
package webhook
