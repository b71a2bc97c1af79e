// Package base contains packages on which all other parts are built. None of them knows what a
// log is.
//
//   - admin: the HTTP server of /metrics, /healthz, /readyz, /status and the live page
//   - web: the parts that all our HTTP servers share: a bound on connections, a timely end
//   - cli, settings: command lines; a setting that is declared once, and how it is spelt
//   - printable: text from others, made safe to show to people
//   - statedir: SOURCE/.ullage, and which sidecar owns it
//   - retry: waits before another try, and limits on repeated lines of the log
//   - kernel: other processes, timers and memory limits, as the kernel reports them
//   - untrusted, build: JSON from others, bounded before it is decoded, and files of others; versions
package base
