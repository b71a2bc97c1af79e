// Package browser opens the pages of `ullage report` in a real headless Chromium, and looks
// at what it has drawn: no script error, no refused resource, marks in their frames, no
// text over another, in light and dark, wide and narrow. Pictures go to the directory in
// ULLAGE_PICTURES, if it is set.
package browser
