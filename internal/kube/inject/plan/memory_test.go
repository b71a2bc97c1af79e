package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The JVM derives the size of its heap from its options, wherever in the pod they are set.
func TestHeapThatThePodShows(t *testing.T) {
	const gi = 1 << 30
	env := func(pairs ...string) (all []corev1.EnvVar) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	for name, c := range map[string]struct {
		of     corev1.Container
		limit  int64
		mib    int64
		by     string
		whole  int64
		pinned bool
	}{
		"by default":                     {of: corev1.Container{}, mib: 256},
		"by default in a little memory":  {of: corev1.Container{}, limit: 200 << 20, mib: 100},
		"-Xmx of the command":            {of: corev1.Container{Command: []string{"java", "-Xmx700m", "-jar", "x"}}, mib: 700, by: "-Xmx700m"},
		"-Xmx in a shell":                {of: corev1.Container{Args: []string{`exec java "-Xmx1G" -jar x`}}, mib: 1024, by: "-Xmx1G"},
		"the last one wins":              {of: corev1.Container{Command: []string{"java", "-Xmx700m", "-XX:MaxHeapSize=300m"}}, mib: 300, by: "-XX:MaxHeapSize=300m"},
		"the command after a variable":   {of: corev1.Container{Command: []string{"java", "-Xmx700m"}, Env: env("JDK_JAVA_OPTIONS", "-Xmx300m")}, mib: 700, by: "-Xmx700m"},
		"a variable after JAVA_TOOL_...": {of: corev1.Container{Env: env("JDK_JAVA_OPTIONS", "-Xmx300m", "JAVA_TOOL_OPTIONS", "-Xmx700m")}, mib: 300, by: "-Xmx300m"},
		"the last word":                  {of: corev1.Container{Command: []string{"java", "-Xmx700m"}, Env: env("_JAVA_OPTIONS", "-Xmx300m")}, mib: 300, by: "-Xmx300m"},
		"a share":                        {of: corev1.Container{Env: env("JAVA_OPTS", "-Dx=1 -XX:MaxRAMPercentage=75.0 -XX:+UseG1GC")}, mib: 768, by: "-XX:MaxRAMPercentage=75.0"},
		"a share with quotes":            {of: corev1.Container{Env: env("JAVA_TOOL_OPTIONS", `'-XX:MaxRAMPercentage=75'`)}, mib: 768, by: "-XX:MaxRAMPercentage=75"},
		"an amount beats a share":        {of: corev1.Container{Env: env("JAVA_OPTS", "-Xmx300m -XX:MaxRAMPercentage=75")}, mib: 300, by: "-Xmx300m"},
		"a share of MaxRAM":              {of: corev1.Container{Env: env("JAVA_OPTS", "-XX:MaxRAM=512m -XX:MaxRAMPercentage=50")}, mib: 256, by: "-XX:MaxRAMPercentage=50", pinned: true},
		"Paketo without head room":       {of: corev1.Container{Env: env("BPL_JVM_THREAD_COUNT", "50")}, whole: 1024},
		"Paketo with head room":          {of: corev1.Container{Env: env("BPL_JVM_HEAD_ROOM", "10")}, whole: 921},
		"no number":                      {of: corev1.Container{Env: env("JAVA_OPTS", "-Xmxm -XX:MaxRAMPercentage=x")}, mib: 256},
		"more than there is":             {of: corev1.Container{Args: []string{"-Xmx99999999999999999999t"}}, mib: 1 << 30, by: "-Xmx99999999999999999999t"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limit == 0 {
				c.limit = gi
			}
			h := heapOf(&c.of, c.limit)
			if h.bytes>>20 != c.mib || h.by != c.by || h.whole>>20 != c.whole || h.pinned != c.pinned {
				t.Errorf("heap %d MiB by %q, whole %d MiB, pinned %v; want %d MiB by %q, %d MiB, %v", h.bytes>>20, h.by, h.whole>>20, h.pinned, c.mib, c.by, c.whole, c.pinned)
			}
		})
	}
}
