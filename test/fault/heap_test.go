package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/test/lab"
)

// A pod gives 85 % of its 512 MiB to the heap. If the sidecar ships nothing, as in a long stall, the log on the
// tmpfs uses memory of the JVM's container, and the kernel kills the JVM. The injector warns of that. With the
// opt-in, the injector raises the limit and pins the heap, and the JVM survives. A raised limit without a pinned
// heap would not help: the heap would take most of the increase.
func TestAHeapThatLeavesNoRoomForTheLog(t *testing.T) {
	needRoot(t)
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Heap.java"))
	for _, jdk := range jdks {
		for _, c := range []struct {
			name          string
			optIn, unpin  bool
			limit         int64 // of the container
			warned, lives bool
		}{
			{"as it is", false, false, 512 << 20, true, false},
			{"with the opt-in", true, false, 576 << 20, false, true},
			{"raised without a pin", true, true, 576 << 20, false, false},
		} {
			t.Run(jdk.String()+"/"+c.name, func(t *testing.T) {
				limit, options, warnings := injectedHeap(t, c.optIn)
				if limit != c.limit {
					t.Errorf("the container's limit is %d MiB, want %d", limit>>20, c.limit>>20)
				}
				const warning = "may use more than its memory limit of 512 MiB, and be killed: heap 436 MiB (-XX:MaxRAMPercentage=85), 64 MiB on the log's tmpfs"
				if strings.Contains(warnings, warning) != c.warned {
					t.Errorf("want a warning: %v; warnings:\n%s", c.warned, warnings)
				}
				if c.unpin {
					options = strings.ReplaceAll(options, fmt.Sprintf("-XX:MaxRAM=%d", 512<<20), "")
				}
				g := newGroup(t, "memory", "memory.limit_in_bytes", "memory.max")
				g.set(g.file, strconv.FormatInt(limit, 10))
				_ = os.WriteFile(filepath.Join(g.dir, "memory.swappiness"), []byte("0"), 0) // version 1 of control groups
				_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0)   // version 2: a pod has no swap
				source := lab.Tmpfs(t, "64m")
				cmd := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"),
					filepath.Join(jdk.Home, "bin/java"), "-XX:MaxRAMPercentage=85", "-XX:InitialRAMPercentage=85", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-cp", classes, "Heap", filepath.Join(source, "stall.log"), "54", "40")
				cmd.Env = append(os.Environ(), "JDK_JAVA_OPTIONS="+strings.ReplaceAll(options, "/var/log/jvm", source))
				out, err := cmd.CombinedOutput()
				t.Logf("%v\n%s", err, out)
				var failed *exec.ExitError
				killed := errors.As(err, &failed) && failed.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
				if c.lives && err != nil || !c.lives && !killed {
					t.Errorf("lives: want %v, got %v", c.lives, err)
				}
			})
		}
	}
}

// injectedHeap injects the pod and returns the memory limit of the JVM's container in bytes, the JVM's options, and
// the warnings.
func injectedHeap(t *testing.T, optIn bool) (limit int64, options, warnings string) {
	t.Helper()
	pod := fmt.Sprintf(`{"metadata":{"annotations":{"ullage.dev/raise-memory-limit":"%v"}},"spec":{"securityContext":{"runAsUser":1,"runAsGroup":1},"containers":[
		{"name":"app","command":["java","-XX:MaxRAMPercentage=85"],"resources":{"limits":{"memory":"512Mi"}}}]}}`, optIn)
	cfg := wish.DefaultConfig()
	cfg.Image = "localhost/ullage:v1"
	res, err := inject.Mutate([]byte(pod), "shop", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Injected {
		t.Fatalf("the pod is not injected, want it injected; warnings: %q", res.Warnings)
	}
	limit = 512 << 20
	for _, op := range res.Patch {
		switch op.Path {
		case "/spec/containers/0/resources/limits/memory":
			mib, _ := strconv.Atoi(strings.TrimSuffix(fmt.Sprint(op.Value), "Mi")) // the test operation, with the old limit, precedes the replacement
			limit = int64(mib) << 20
		case "/spec/containers/0/env":
			var env []struct{ Value string }
			text, err := json.Marshal(op.Value)
			if err == nil {
				err = json.Unmarshal(text, &env)
			}
			if err != nil {
				t.Fatal(err)
			}
			options = env[0].Value
		}
	}
	return limit, options, strings.Join(res.Warnings, "\n")
}
