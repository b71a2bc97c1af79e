// Package settings defines how a setting is spelled: as a flag, as an environment
// variable, as a Kubernetes quantity, in a help text and in a reference table.
//
// A package that has settings declares each of them once, on a [flag.FlagSet],
// next to its own defaults and its own validation. Everything else is derived
// from that flag set here, so that no second list of settings can drift from
// the first.
package settings
