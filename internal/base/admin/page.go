package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// parts are the page and the files that are inserted into it. A test bounds their total size.
//
//go:embed live
var parts embed.FS

// root answers a browser with the page, and any other client with the index.
func root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		text(w, http.StatusOK, index+recentIndex)
		return
	}
	body, policy := page()
	for key, value := range map[string]string{
		"Content-Type":               "text/html; charset=utf-8",
		"Content-Security-Policy":    policy,
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control":              "no-store", // another sidecar may have the address next
	} {
		w.Header().Set(key, value)
	}
	_, _ = w.Write([]byte(body)) // an error means that the client has gone
}

// page assembles the page and returns it with its Content-Security-Policy, which
// allows only the page's own script and requests to its own server. The page is
// made for each request, which takes less than a millisecond, so that a sidecar
// whose page is not open does not keep it in memory.
func page() (body, policy string) {
	style := part("style.css")
	script := "(() => {\n'use strict';\n" + part("format.js") + part("chart.js") + part("live.js") + part("cards.js") + "})();\n"
	body = strings.NewReplacer("/*style*/", style, "/*script*/", script).Replace(part("page.html"))
	return body, strings.Join([]string{
		"default-src 'none'", "script-src " + digest(script), "style-src " + digest(style), "connect-src 'self'", "img-src data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'", // no text becomes HTML, whatever a script does
	}, "; ")
}

// part returns an embedded file. A test of the page proves that the file exists.
func part(name string) string {
	content, err := parts.ReadFile("live/" + name)
	if err != nil {
		panic("embedded file: " + err.Error())
	}
	return string(content)
}

// digest returns the source expression of an inline script or style, as in
// https://www.w3.org/TR/CSP3/#grammardef-hash-source.
func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
