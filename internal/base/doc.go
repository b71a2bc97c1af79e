// Package base contains the packages on which all other parts are built. None of them knows what a
// log is.
//
//   - admin: the HTTP server of /metrics, /healthz, /readyz, /status and the live page
//   - web: the parts that all our HTTP servers share: a bound on connections, a timely end
//   - cli, settings: command lines; settings, each declared once, and their spelling
//   - printable: text from others, made safe to show to people
//   - statedir: SOURCE/.ullage, and which sidecar owns it
//   - retry: waiting before another try, and limits on repeated log lines
//   - kernel: other processes, timers and memory limits, as the kernel reports them
//   - untrusted: JSON from other parties, bounded before it is decoded, and files from other parties
//   - build: what a program was built from, and its version
package base
