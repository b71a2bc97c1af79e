// Package read is what reads back what was persisted, for people.
//
//   - cat: `ullage cat`: find, merge, filter, print
//   - check: `ullage check`: is the copy complete
//   - report: `ullage report` and `ullage pauses`: where a JVM's time went
package read
