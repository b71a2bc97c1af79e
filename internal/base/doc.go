// Package base is what every other part is built on. Nothing in it knows what a log is.
//
//   - admin: the HTTP server of /metrics, /healthz, /readyz, /status and the live page
//   - web: what all our HTTP servers share: a bound on connections, a timely end
//   - cli, settings: command lines; a setting that is declared once, and how it is spelt
//   - printable: text of others, made safe for people to read
//   - statedir: SOURCE/.ullage, and which sidecar owns it
//   - retry: how to wait before another try, or another line of the log that says the same
//   - kernel: other processes, timers and memory limits, as the kernel reports them
//   - untrusted, build: JSON from others, bounded before it is decoded, and files of others; versions
package base
