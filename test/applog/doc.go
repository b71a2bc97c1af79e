// Package applog tests the settings of docs/application.md, and encoders of JSON, with the
// real libraries from Maven on real JVMs: each line must have its level and time in the
// durable copy. The Java programs log one Scenario by each library.
package applog
