// Command stamped prints what it was built from.
package main

import (
	"encoding/json"
	"os"

	"github.com/ullage/ullage/internal/base/build"
)

var version string

func main() { _ = json.NewEncoder(os.Stdout).Encode(build.Read(version)) }
