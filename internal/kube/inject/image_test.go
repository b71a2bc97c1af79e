package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// warningsOf injects a pod with the container and returns the warnings.
func warningsOf(t *testing.T, annotations, container, spec object) string {
	t.Helper()
	all := object{"securityContext": object{"runAsUser": 1, "runAsGroup": 1, "fsGroup": 1}, "containers": []any{container}}
	for name, value := range spec {
		all[name] = value
	}
	container["name"] = "app"
	pod, err := json.Marshal(object{"metadata": object{"annotations": annotations}, "spec": all})
	if err != nil {
		t.Fatal(err)
	}
	res := mutate(t, pod, testConfig())
	checkInvariants(t, pod, res, testConfig())
	if !res.Injected {
		t.Fatalf("the pod is not injected: %q", res.Warnings)
	}
	return strings.Join(res.Warnings, "\n")
}

// The volume at /tmp hides the image's own /tmp, so a JVM would not find a jar there.
func TestWhatTheImageHasInTmpIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		container object
		says      string // empty: nothing
	}{
		"a jar":                       {object{"command": []string{"java", "-jar", "/tmp/app.jar"}}, "names /tmp/app.jar,"},
		"a file of arguments":         {object{"command": []string{"java", "@/tmp/java.args", "Main"}}, "names /tmp/java.args,"},
		"a class path":                {object{"args": []string{"-cp", "/app/x.jar:/tmp/lib/*"}}, "names /tmp/lib/*,"},
		"an agent in a variable":      {object{"env": []any{object{"name": "JAVA_TOOL_OPTIONS", "value": "-javaagent:/tmp/agent.jar"}}}, "names /tmp/agent.jar,"},
		"the working directory":       {object{"workingDir": "/tmp"}, "names /tmp, its working directory,"},
		"a heap dump":                 {object{"args": []string{"-XX:HeapDumpPath=/tmp/dumps"}}, ""},
		"a directory for temporaries": {object{"args": []string{"-Djava.io.tmpdir=/tmp/work"}}, ""},
		"another directory":           {object{"args": []string{"-jar", "/opt/tmp/app.jar"}}, ""},
		"a volume is there already":   {object{"args": []string{"-jar", "/tmp/app.jar"}, "volumeMounts": []any{object{"name": "scratch", "mountPath": "/tmp"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said := warningsOf(t, nil, c.container, object{"volumes": []any{object{"name": "scratch", "emptyDir": object{}}}})
			if strings.Contains(said, "hides what the image has there") != (c.says != "") || !strings.Contains(said, c.says) || c.says != "" && !strings.Contains(said, "set ullage.dev/attach to process-namespace or off") {
				t.Errorf("warnings\n%s\nwant %q", said, c.says)
			}
		})
	}
	if said := warningsOf(t, object{"ullage.dev/attach": "off"}, object{"workingDir": "/tmp"}, nil); strings.Contains(said, "hides") {
		t.Errorf("with attach off, the warnings are\n%s\nwant none about a volume that hides /tmp", said)
	}
}

func TestAnImageOfJDK8IsSeenByItsTag(t *testing.T) {
	for image, old := range map[string]bool{
		"eclipse-temurin:8-jre": true, "docker.io/library/openjdk:8u402-jdk": true, "registry.example:5000/openjdk:1.8.0": true, "amazoncorretto:8": true,
		"tomcat:9-jdk8-temurin": true, "maven:3.9-jdk-8": true, "bellsoft/liberica-openjdk-alpine:8": true,
		"eclipse-temurin:17.0.8": false, "eclipse-temurin:18": false, "eclipse-temurin:21": false, "team/java-app:8.1.2": false, "web:8": false, "temurin:80": false,
		"openjdk": false, "eclipse-temurin@sha256:8888": false,
	} {
		for variable, says := range map[string]string{"off": "look like JDK 8: add them yourself: -Xloggc:", "JDK_JAVA_OPTIONS": "nothing is logged until you add"} {
			said := warningsOf(t, object{"ullage.dev/options-variable": variable}, object{"image": image}, nil)
			if strings.Contains(said, says) != old {
				t.Errorf("%s with %s: want a warning: %v; warnings\n%s", image, variable, old, said)
			}
		}
	}
}

// A JVM of JDK 8 would exit at -Xlog. So a pod is refused if it shows that its JVM is of JDK 8 and would read the
// option. The variable JAVA_VERSION is stronger evidence than the image's tag.
func TestAPodOfJDK8IsNotGivenOptionsThatEndIt(t *testing.T) {
	for _, c := range []struct {
		image, version, variable string
		refused                  bool
	}{
		{"eclipse-temurin:8-jre", "", "JAVA_TOOL_OPTIONS", true}, {"eclipse-temurin:8-jre", "", "MY_OPTS", true}, {"eclipse-temurin:8-jre", "", "JDK_JAVA_OPTIONS", false},
		{"eclipse-temurin:8-jre", "", "off", false}, {"eclipse-temurin:11", "", "JAVA_TOOL_OPTIONS", false},
		{"web:7", "8u392", "JAVA_TOOL_OPTIONS", true}, {"web:7", "1.8.0_392", "JAVA_TOOL_OPTIONS", true}, {"web:7", "jdk8u392-b08", "JAVA_TOOL_OPTIONS", true},
		{"web:7", "jdk-11.0.21+9", "JAVA_TOOL_OPTIONS", false}, {"web:7", "80", "JAVA_TOOL_OPTIONS", false}, {"openjdk:8", "17.0.9", "JAVA_TOOL_OPTIONS", false},
	} {
		container := object{"name": "app", "image": c.image}
		if c.version != "" {
			container["env"] = []any{object{"name": "JAVA_VERSION", "value": c.version}}
		}
		pod, err := json.Marshal(object{"metadata": object{"annotations": object{"ullage.dev/options-variable": c.variable}},
			"spec": object{"securityContext": object{"runAsUser": 1, "runAsGroup": 1}, "containers": []any{container}}})
		if err != nil {
			t.Fatal(err)
		}
		res := mutate(t, pod, testConfig())
		said := strings.Join(res.Warnings, "\n")
		if (res.Refused == ask.JDK8) != c.refused || res.Injected == c.refused || c.refused && !strings.Contains(said, "options-variable to off and add to the JVM's own options: -Xloggc:") {
			t.Errorf("%+v: injected %t, refused %q; want it refused for %q, with the options to add, if the case says so, and otherwise injected:\n%s",
				c, res.Injected, res.Refused, ask.JDK8, said)
		}
	}
}

func TestACopyThatDoesNotOutliveThePod(t *testing.T) {
	for dir, inMemory := range map[string]bool{"/dev/shm": true, "/run/logs": true, "/var/run": true, "/var/lib/logs": false, "/running": false} {
		said := warningsOf(t, object{"ullage.dev/dest": "volume:node"}, object{}, object{"volumes": []any{object{"name": "node", "hostPath": object{"path": dir}}}})
		if strings.Contains(said, "is a directory in the node's memory") != inMemory {
			t.Errorf("hostPath %s: want a warning: %v; warnings\n%s", dir, inMemory, said)
		}
	}
	for grace, warns := range map[int]bool{0: true, 30: false} {
		if said := warningsOf(t, nil, object{}, object{"terminationGracePeriodSeconds": grace}); strings.Contains(said, "the last lines are lost") != warns {
			t.Errorf("a grace period of %d: want a warning: %v; warnings\n%s", grace, warns, said)
		}
	}
}

// The injector's own port is 9919, and the injector may use hostNetwork too.
func TestThePortForHostNetworkIsNotTheInjectors(t *testing.T) {
	if said := warningsOf(t, nil, object{}, object{"hostNetwork": true}); !strings.Contains(said, "hostNetwork") || strings.Contains(said, "9919") {
		t.Errorf("the warnings are\n%s\nwant hostNetwork in them, and not the port 9919", said)
	}
}
