package main

// version is set by the linker (-X main.version=v1.2.3). If it is empty, the module version in the build information
// is used.
var version string
