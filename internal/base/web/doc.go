// Package web has what each of our HTTP servers needs: [Limit], a bound on connections that
// no client can use to lock out the others, and a [Stopper], which ends a server in time.
package web
