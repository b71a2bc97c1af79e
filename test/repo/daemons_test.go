package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Programs that test/cluster starts outlive the script. If they inherited a descriptor, a `flock FILE cluster.sh up`
// would hold its lock until the cluster is gone.
func TestNoDaemonInheritsADescriptor(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"log", "pids"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `cache=` + dir + `; . ../cluster/local.sh; state=` + dir + `
exec 3>$state/a 7>$state/b 9>$state/c
start daemon sh -c 'ls -l /proc/$$/fd; echo done'
wait $!; cat $state/log/daemon.log`
	out, err := exec.Command("bash", "-euc", script).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "done") {
		t.Fatalf("error %v, want no error and \"done\" in the output:\n%s", err, out)
	}
	for _, name := range []string{"a", "b", "c"} {
		if strings.Contains(string(out), dir+"/"+name+"\n") {
			t.Errorf("a daemon has inherited the descriptor of %s, want none of the script's:\n%s", name, out)
		}
	}
}
