// Package applog tests the settings of docs/application.md, and JSON encoders, with the real libraries from Maven on
// real JVMs: each line must have its level and time in the durable copy. The Java programs log the same Scenario with
// each library.
package applog
