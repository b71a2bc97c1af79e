// Package view defines the content of a report and shows it as a page, as text and as JSON. It
// does not read logs: package report does that, and needs Linux.
//
//	report.Read → Report → HTML, Text, Pauses or JSON
//	JSON → Decode → Report → HTML, as in the kubectl plugin
//
// The texts of a report are taken from logs, and a decoded report is sent by a container that a
// tenant controls: both are untrusted. The page shows these texts only as text. Its
// Content-Security-Policy permits only the script and the style that this package puts into it.
package view
