// Package certs provides the certificate that the injector serves with and
// keeps it valid and trusted. A [Serving] holds the certificate; [Serving.Run]
// is the loop that renews it. Run starts no goroutine.
//
// # Two sources
//
// With --tls-cert and --tls-key, the certificate is in files that another program renews, such
// as cert-manager. Run reads the files every few seconds. It uses a new pair once certificate
// and key match.
//
// Otherwise Run makes the certificate. All replicas share one Secret, which
// holds the CAs, the key of the first CA, the serving certificate and its key.
// The caBundle of the webhook configuration holds the same CAs. API servers
// trust only the CAs in the caBundle.
//
// # Rollover
//
// An API server must trust a CA before a replica serves a certificate that the CA has signed.
// The steps of a rollover keep this order:
//
//	            ca.crt    tls.crt signed by
//	            A         A
//	rotate      B A       A                    after two thirds of A's life
//	issue       B A       B                    after B has been in the caBundle for a minute
//	retire      B         B                    after a third of the new certificate's life
//
// In each step, a replica first writes the Secret, then the caBundle, and only then serves the
// certificate. A replica whose certificate is still valid serves a new one only if the caBundle that
// this replica saw or wrote holds the new certificate's CA.
//
// What would break in another order:
//
//   - Issue before the minute is over: an API server that has not seen the new caBundle refuses
//     the connection. Under failurePolicy Ignore, the pod then starts without a sidecar.
//   - Retire at once: a replica that has not read the Secret again still serves the certificate
//     that A signed, but API servers no longer trust A.
//   - Read the Secret before the configuration: between the two reads, another
//     replica writes both, and the slower replica then puts the older CAs back.
//     So the configuration is read first and written last, on the condition
//     that it has not changed in between.
//
// # Several replicas
//
// Every write depends on the resourceVersion that was read. The first replica to write wins.
// The others get a conflict, read again, and use what the first has written.
//
// # Crashes and damage
//
// A process may be killed between any two steps. All state is in the Secret and
// the caBundle, so the replica that reads them next continues with the next
// step. Only the minute is counted in memory; a restart counts it again.
//
// If the Secret is unusable, a replica writes the certificate that it still serves, with the
// certificate's CA, and puts a new CA in front. The other replicas continue from that Secret.
// Emptying the Secret therefore does not end the trust in a CA: to end it at once, stop all
// replicas, empty the Secret, and start them.
//
// # The Kubernetes API
//
// The API client sends four requests: get and update the Secret, get and patch the webhook
// configuration. Fields that this package does not know are written back unchanged. The sizes
// of tokens, answers and files are bounded, requests have a deadline, and no answer of the API
// can end the process.
package certs
