package main

import (
	"fmt"
	"testing"
)

// For each container that the injector chose, doctor adds up the memory that the JVM may take under the pod's current
// settings.
func TestDoctorAddsUpTheMemoryOfTheJVM(t *testing.T) {
	const mounts = `"volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"ullage-logs","mountPath":"/var/log/jvm"}]`
	const raised = `"ullage.dev/raise-memory-limit":"true",`
	for name, c := range map[string]struct {
		annotations, app, whole string
		mark, text, hint        string
	}{
		"it fits": {app: `"command":["java","-XX:MaxRAMPercentage=75"],"resources":{"limits":{"memory":"1Gi"}},` + mounts, mark: markOK,
			text: "memory of container app: heap 768 MiB (-XX:MaxRAMPercentage=75), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM: 976 MiB in all, the limit is 1024 MiB"},
		"it does not": {app: `"env":[{"name":"JAVA_OPTS","value":"-Xmx900m"}],"resources":{"limits":{"memory":"1Gi"}},` + mounts, mark: markNote,
			text: "memory of container app: heap 900 MiB (-Xmx900m), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM: 1108 MiB in all, the limit is 1024 MiB",
			hint: "raise the limit to 1123Mi, write -Xmx816m instead of -Xmx900m, or use a smaller buffer"},
		"it does not, and a raise would be enough": {app: `"command":["java","-XX:MaxRAMPercentage=85"],"resources":{"limits":{"memory":"512Mi"}},` + mounts, mark: markNote,
			text: "memory of container app: heap 436 MiB (-XX:MaxRAMPercentage=85), 64 MiB on the log's tmpfs, and 68 MiB for the rest of the JVM: 567 MiB in all, the limit is 512 MiB",
			hint: `set ullage.dev/raise-memory-limit: "true", write -XX:MaxRAMPercentage=74 instead of -XX:MaxRAMPercentage=85, or use a smaller buffer`},
		"it does since the limit was raised": {annotations: raised, app: `"command":["java","-XX:MaxRAMPercentage=85"],"env":[{"name":"JDK_JAVA_OPTIONS","value":"-XX:MaxRAM=536870912"}],"resources":{"limits":{"memory":"576Mi"}},` + mounts, mark: markOK,
			text: "memory of container app: heap 436 MiB (-XX:MaxRAMPercentage=85), 64 MiB on the log's tmpfs, and 77 MiB for the rest of the JVM: 576 MiB in all, the limit is 576 MiB"},
		"it does not, though the limit was raised": {annotations: raised, app: `"command":["java","-XX:MaxRAMPercentage=90"],"env":[{"name":"JDK_JAVA_OPTIONS","value":"-XX:MaxRAM=536870912"}],"resources":{"limits":{"memory":"576Mi"}},` + mounts, mark: markNote,
			text: "memory of container app: heap 461 MiB (-XX:MaxRAMPercentage=90), 64 MiB on the log's tmpfs, and 77 MiB for the rest of the JVM: 602 MiB in all, the limit is 576 MiB",
			hint: "write -XX:MaxRAMPercentage=85 instead of -XX:MaxRAMPercentage=90"},
		"the limit of the pod": {app: `"command":["java","-Xmx900m"],` + mounts, whole: `"resources":{"limits":{"memory":"1Gi"}},`, mark: markNote,
			text: "memory of container app: heap 900 MiB (-Xmx900m), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM: 1108 MiB in all, the limit is 1024 MiB",
			hint: "raise the limit to 1123Mi, write -Xmx816m instead of -Xmx900m, or use a smaller buffer"},
		"no option that is seen": {app: `"resources":{"limits":{"memory":"1G"}},` + mounts, mark: markOK,
			text: "memory of container app: heap 239 MiB (by default), 64 MiB on the log's tmpfs, and 134 MiB for the rest of the JVM: 436 MiB in all, the limit is 953 MiB (the pod spec has no heap option; the image or envFrom may have one)"},
		"no limit":                    {app: `"command":["java","-Xmx900m"],` + mounts, mark: markNote, text: "container app has no memory limit: only the node limits what its JVM uses"},
		"a limit in another notation": {app: `"resources":{"limits":{"memory":"1e9"}},` + mounts, mark: markUnknown, text: `whether the JVM of container app fits into its memory limit: "1e9" is not a size (write it like 64Mi, 1Gi or 4096)`},
		"no tmpfs of ours":            {app: `"resources":{"limits":{"memory":"1Gi"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			pods, err := parsePods([]byte(fmt.Sprintf(`{"kind":"Pod","metadata":{"annotations":{%s"ullage.dev/injected":"{\"jvms\":[{\"container\":\"gone\"},{\"container\":\"app\"}]}"}},
				"spec":{%s"volumes":[{"name":"data","emptyDir":{}},{"name":"ullage-logs","emptyDir":{"medium":"Memory","sizeLimit":"64Mi"}}],
				"containers":[{"name":"proxy","resources":{"limits":{"memory":"1Mi"}}},{"name":"app",%s}]}}`, c.annotations, c.whole, c.app)))
			if err != nil {
				t.Fatal(err)
			}
			want := []finding{{c.mark, c.text, c.hint}}
			if c.mark == "" {
				want = nil
			}
			got := pods[0].footprints()
			if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
		})
	}
}
