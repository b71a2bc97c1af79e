// Package repo has the tests of what is not Go: scripts, the Makefile and workflows, and the
// links of the documents, their diagrams, and the messages that they list. Rules about Go code
// are in test/lint.
package repo
