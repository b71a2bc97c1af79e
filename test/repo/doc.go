// Package repo tests everything that is not Go: scripts, the Makefile and workflows, and the links, diagrams and
// lists of messages of the documents. Rules about Go code are in test/lint.
package repo
