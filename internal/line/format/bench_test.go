package format

import (
	"bytes"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// benchLines has a usual line of each format.
var benchLines = map[string][]byte{
	"logback":  []byte("07:36:35.123 [http-nio-8080-exec-1] INFO  com.example.Main -- request 17 took 12 ms"),
	"spring":   []byte("2026-11-23T07:36:35.123Z  INFO 4711 --- [demo] [http-nio-8080-exec-1] c.e.Demo : request 17 took 12 ms"),
	"json":     []byte(`{"@timestamp":"2026-11-23T07:36:35.123Z","@version":"1","message":"request 17 took 12 ms","logger_name":"com.example.Main","thread_name":"main","level":"INFO","level_value":20000}`),
	"ecs":      []byte(`{"@timestamp":"2026-11-23T07:36:35.123Z","log.level": "INFO","message":"request 17 took 12 ms","ecs.version": "1.2.0","service.name":"demo"}`),
	"gelf":     []byte(`{"version":"1.1","host":"demo","short_message":"request 17 took 12 ms","timestamp":1795419395.123,"level":6,"_thread":"main"}`),
	"jul":      []byte("Nov 23, 2026 7:36:35 AM com.example.Main main"),
	"stack":    []byte("\tat com.example.Main.main(Main.java:7)"),
	"sql":      []byte("select id, name from customer where id = ?"),
	"unheaded": []byte("2026-11-23 the date of a line that has no time and no level"),
}

func BenchmarkClassify(b *testing.B) {
	for name, line := range benchLines {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var c Classifier
			for b.Loop() {
				c.Classify(line, []byte("INFO: request 17\n"))
			}
		})
	}
}

// BenchmarkUL classifies the lines of JVMs with package ul alone, and with this package.
func BenchmarkUL(b *testing.B) {
	for name, text := range ulLogs(b) {
		lines := bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
		b.Run("before/"+name, func(b *testing.B) {
			var c ul.Classifier
			for i := 0; b.Loop(); {
				c.Classify(lines[i])
				if i++; i == len(lines) {
					i = 0
				}
			}
		})
		b.Run("now/"+name, func(b *testing.B) {
			var c Classifier
			for i := 0; b.Loop(); {
				c.Classify(lines[i], nil)
				if i++; i == len(lines) {
					i = 0
				}
			}
		})
	}
}
