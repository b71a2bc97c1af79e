package plan

import (
	"encoding/json"
	"testing"

	"github.com/ullage/ullage/internal/kube/inject/pod"
)

// A second log, on a disk, brings back the pauses that a log on the tmpfs avoids.
func TestALogOnADiskIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"-Xlog:gc*:file=/data/gc.log":                            "/data/gc.log",
		"-Xlog:gc*:file=/data/gc.log:time,tags:filecount=5":      "/data/gc.log",
		`-Xlog:gc:"/data/gc.log"`:                                "/data/gc.log",
		"-Xlog:safepoint=debug:file=gc.log":                      "gc.log", // in the working directory
		"-Xlog::/data/all.log":                                   "/data/all.log",
		"-Xmx1g -Xloggc:/data/gc.log -jar app.jar":               "/data/gc.log",
		"sh -c 'exec java -Xlog:gc:file=/logs/gc.log -jar x'":    "/logs/gc.log",
		"-Xlog:gc:file=/memory/gc.log":                           "",
		"-Xlog:gc:file=/memory/deep/gc.log":                      "",
		"-Xlog:gc:file=/memory/disk/gc.log":                      "/memory/disk/gc.log",
		"-Xlog:gc:file=/dev/shm/gc.log":                          "",
		"-Xlog:gc:file=/var/log/jvm/own.log":                     "",
		"-Xlog:gc:file=/var/log/jvm2/own.log":                    "/var/log/jvm2/own.log",
		"-Xlog:gc*=debug":                                        "",
		"-Xlog:gc:stdout":                                        "",
		"-Xlog:gc:stderr:time":                                   "",
		"-Xlog:disable -Xlog:all=warning:stdout:time,level,tags": "",
		"-Xlog:gc:file=/dev/stdout:time":                         "",
		"-Xlog:gc:/proc/1/fd/1":                                  "",
		"-Xlog:gc:file=/dev/termination-log":                     "/dev/termination-log",
		"-Xlog:async":                                            "",
	} {
		for _, where := range []string{"command", "args", "env"} {
			c := map[string]any{"name": "app", "volumeMounts": []any{
				map[string]any{"name": "memory", "mountPath": "/memory"}, map[string]any{"name": "disk", "mountPath": "/memory/disk/"}}}
			if c[where] = []any{text}; where == "env" {
				c[where] = []any{map[string]any{"name": "JAVA_OPTS", "value": text}}
			}
			encoded, err := json.Marshal(map[string]any{"spec": map[string]any{"containers": []any{c}, "volumes": []any{
				map[string]any{"name": "memory", "emptyDir": map[string]any{"medium": "Memory"}}, map[string]any{"name": "disk", "emptyDir": map[string]any{}}}}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := pod.Read(encoded)
			if err != nil {
				t.Fatal(err)
			}
			if got := diskLog(p.Container(0)); got != want {
				t.Errorf("%s in %s: %q, want %q", text, where, got, want)
			}
		}
	}
}
