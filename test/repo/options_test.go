package repo

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/kafka"
	"github.com/ullage/ullage/internal/sink/otlp"
	"github.com/ullage/ullage/internal/sink/s3"
	"github.com/ullage/ullage/internal/sink/stdout"
)

// docs/sinks.md lists the options of each sink's URL.
// `go test ./test/repo -run DocsListTheOptions -update` writes the tables.
func TestDocsListTheOptions(t *testing.T) {
	t.Setenv("AWS_REGION", "") // the region is a default
	for scheme, kind := range map[string]sink.Kind{"s3": s3.Kind(), "otlp": otlp.Kind(), "kafka": kafka.Kind(), "stdout": stdout.Kind(io.Discard)} {
		t.Run(scheme, func(t *testing.T) {
			target := sink.Target{URL: &url.URL{Scheme: scheme}, Options: sink.NewOptions(nil)}
			_, _ = kind.Open(target) // Open reads the options before it notices that the host is missing
			var b strings.Builder
			b.WriteString("| option | default | |\n|---|---|---|\n")
			for _, o := range target.Options.Asked() {
				value := ""
				if o.Default != "" {
					value = "`" + o.Default + "`"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, value, o.Usage)
			}
			if len(target.Options.Asked()) == 0 {
				t.Fatal("the sink has no options")
			}
			holdTable(t, "sinks.md", scheme+"-options", "DocsListTheOptions", b.String())
		})
	}
}
