package repo

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/sink/address"
)

// docs/sinks.md lists the options of each sink's URL.
// `go test ./test/repo -run DocsListTheOptions -update` writes the tables.
func TestDocsListTheOptions(t *testing.T) {
	for scheme, read := range map[string]func(*url.URL, *address.Options){
		"s3":     func(u *url.URL, o *address.Options) { _, _ = address.ParseS3(u, o) },
		"otlp":   func(u *url.URL, o *address.Options) { _, _ = address.ParseOTLP(u, o) },
		"kafka":  func(u *url.URL, o *address.Options) { _, _ = address.ParseKafka(u, o) },
		"stdout": func(u *url.URL, o *address.Options) { _, _ = address.ParseStdout(u, o) },
	} {
		t.Run(scheme, func(t *testing.T) {
			options := address.NewOptions(nil)
			read(&url.URL{Scheme: scheme}, &options) // it reads the options before it notices that the host is missing
			var b strings.Builder
			b.WriteString("| option | default | |\n|---|---|---|\n")
			for _, o := range options.Asked() {
				value := ""
				if o.Default != "" {
					value = "`" + o.Default + "`"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, value, o.Usage)
			}
			if len(options.Asked()) == 0 {
				t.Fatal("got no options of the sink, want at least one")
			}
			holdTable(t, "sinks.md", scheme+"-options", "DocsListTheOptions", b.String())
		})
	}
}
