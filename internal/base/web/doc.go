// Package web has two things that each of our HTTP servers needs: [Limit] bounds the number of
// connections without letting a client lock out others, and a [Stopper] ends a server in time.
package web
