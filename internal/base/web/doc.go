// Package web has two things that each of our HTTP servers needs: [Limit], a bound on
// connections with which no client can lock out others, and a [Stopper], which ends a server in
// time.
package web
