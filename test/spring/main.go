// Command spring prints the directory of the Spring Boot application Orders and its libraries, which Maven fetches
// once. The tests here kill the application, and images.sh of test/cluster puts it into a JDK image.
package main

import (
	"fmt"
	"os"

	"github.com/ullage/ullage/test/lab"
)

func main() {
	dir, err := lab.Jars("test/spring", func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }, "--release", "17")
	if err != nil {
		fmt.Fprintln(os.Stderr, "spring:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
