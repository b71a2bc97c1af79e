// Package browser views the project's pages in a real browser: Chromium, without a window. A [Page] is a tab of a
// given size and colour scheme. It records the page's mistakes while it runs (errors of scripts, violations of the
// Content-Security-Policy, requests to other servers), and [Page.Inspect] measures the drawn page: text that
// overlaps, is cut off, or has too little contrast, marks without a size, and controls and pictures without a name.
//
//	b := browser.Start(t)
//	p := b.Open(t, "http://127.0.0.1:9919/", browser.View{Width: 360, Height: 800, Dark: true})
//	p.Await("the page has figures", `document.querySelectorAll('[data-figure]').length > 3`)
//	p.Inspect()
//	p.Picture("live-360-dark")
//
// Pictures are written into bin/browser of the project, for people to look at.
//
// The package is a module of its own, because the browser's protocol is larger than the whole product.
package browser
