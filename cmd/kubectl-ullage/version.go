package main

// version is set by the linker (-X main.version=v1.2.3). Empty means that the
// module version in the build information counts.
var version string
