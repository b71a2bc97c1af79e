package address

import (
	"strings"
	"testing"
)

// Programs that do not link the sinks, such as the injector, refuse an option as the sinks do.
func TestOptionsAreCheckedWithoutTheSinks(t *testing.T) {
	for text, want := range map[string]string{
		"s3://logs?regoin=x":                     "unknown option regoin: the options are ca, cert, credentials, endpoint, key, name, part-size, ",
		"s3://logs?part-size=1Mi":                "option part-size=1Mi is out of range: 5Mi to 5Gi",
		"s3://logs?cert=/there":                  "options cert and key must be set together",
		"kafka://one:9092":                       `"" is not the name of a topic`,
		"kafka://one:9092/logs?sasl=plain":       "it needs tls=true",
		"kafka://one:9092/logs?credentials=mine": `option credentials="mine": use env or dir:DIR`,
		"otlp+http:///v1/logs":                   "no host: use otlp+http://HOST/v1/logs",
		"otlp+https://collector?service=a&b=c":   "unknown option b: the options are ca, cert, headers, key, name, service",
		"stdout:?format=xml":                     `option format="xml": use text or json`,
	} {
		all, bad := ParseAll([]string{text}, Schemes())
		if len(all) != 0 || len(bad) != 1 || !strings.Contains(bad[0].Error(), want) {
			t.Errorf("%s: got %v, errors %v; want no address and one error with %q", text, all, bad, want)
		}
	}
	// No file is opened: the file need not be on this machine.
	for _, text := range []string{"s3://logs?region=r&ca=/absent&credentials=file:/absent", "kafka://one,two/logs?sasl=scram-sha-512&credentials=dir:/absent",
		"otlp+https://collector?headers=/absent&cert=/absent&key=/absent", "stdout:?format=json&name=console"} {
		if _, bad := ParseAll([]string{text}, Schemes()); len(bad) > 0 {
			t.Errorf("%s: want no errors, got %v", text, bad)
		}
	}
}
