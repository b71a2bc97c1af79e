package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a directory with a cache and with programs that only record how they are called.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) machine {
	m := machine{t, t.TempDir()}
	for _, name := range []string{"iptables", "ip6tables", "ip", "umount", "find", "rmdir", "pgrep", "go", "kubectl", "helm", "docker", "kind", "podman"} {
		m.program(name, "exit 1")
	}
	m.program("mountpoint", "exit 1")
	return m
}

func (m machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) program(name, does string) {
	m.t.Helper()
	m.write("programs/"+name, "#!/bin/bash\necho \""+name+" $*\" >>"+m.path("calls")+"\n"+does+"\n")
}

func (m machine) read(name string) string {
	text, _ := os.ReadFile(m.path(name)) // a missing file is empty
	return string(text)
}

// bash runs commands and returns what they print, followed by the recorded calls of the programs.
func (m machine) bash(commands string) (string, error) {
	cmd := exec.Command("bash", "-euc", commands)
	cmd.Env = []string{"PATH=" + m.path("programs") + ":" + os.Getenv("PATH"), "HOME=" + m.dir, "ULLAGE_CACHE=" + m.path("cache")}
	out, err := cmd.CombinedOutput()
	return string(out) + m.read("calls"), err
}

// newKindMachine returns a machine whose Docker has a kind cluster if node is not empty.
func newKindMachine(t *testing.T, node, record string) machine {
	m := newMachine(t)
	m.program("docker", "case $* in *'container inspect'*) cat "+m.path("node")+" ;; esac")
	m.program("go", `printf '\t"Dir": "%s",\n' `+m.dir)
	m.write("pkg/apis/config/defaults/image.go", "const Image = \"node:1\"\n")
	m.program("kind", `case $* in
'get clusters') [ ! -f `+m.path("node")+` ] || echo ullage ;;
'create cluster'*) [ ! -f `+m.path("node")+` ] && echo created >`+m.path("node")+` ;;
'delete cluster'*) rm `+m.path("node")+` ;;
esac`)
	if node != "" {
		m.write("node", node+"\n")
	}
	if record != "" {
		m.write("cache/kind.node", record+"\n")
	}
	return m
}

// kind identifies a cluster only by its name, which another cluster may have too.
func TestOnlyTheKindClusterOfTheScriptsIsDeleted(t *testing.T) {
	for _, c := range []struct {
		name, node, record string
		refused            bool
	}{
		{"nothing is there", "", "", false},
		{"somebody else's", "theirs", "", true},
		{"somebody else's, after ours was deleted by hand", "theirs", "ours", true},
		{"ours", "ours", "ours", false},
		{"ours, whose creation was interrupted", "ours", "creating", false},
		{"ours was deleted by hand", "", "ours", false},
	} {
		for _, command := range []string{"up", "down"} {
			t.Run(c.name+"/"+command, func(t *testing.T) {
				m := newKindMachine(t, c.node, c.record)
				out, err := m.bash("CLUSTER=kind ../cluster/cluster.sh " + command)
				if (err != nil) != c.refused || strings.Contains(m.read("calls"), "kind delete") != (c.node != "" && !c.refused) {
					t.Fatalf("error %v; want an error: %t, and the cluster deleted: %t\n%s", err, c.refused, c.node != "" && !c.refused, out)
				}
				if c.refused {
					if !strings.Contains(out, "the kind cluster ullage was not created") || !strings.Contains(out, "kind delete cluster --name ullage") {
						t.Errorf("want a message that names both the cluster and a remedy, got:\n%s", out)
					}
					if m.read("node") != c.node+"\n" || m.read("cache/cluster") != "" {
						t.Errorf("the node is %q, and the cluster in use %q; want %q and none", m.read("node"), m.read("cache/cluster"), c.node+"\n")
					}
					return
				}
				want := map[string]string{"up": "created\n", "down": ""}[command]
				if m.read("node") != want || m.read("cache/kind.node") != want {
					t.Errorf("the node is %q, and the record is %q; want both to be %q:\n%s", m.read("node"), m.read("cache/kind.node"), want, out)
				}
			})
		}
	}
}

// make try-down removes the cluster only if the record says that make try has started it.
func TestOnlyTheClusterThatTryStartedIsRecorded(t *testing.T) {
	for _, c := range []struct {
		name, node, record, command string
		answers                     bool
		want                        string
	}{
		{"try starts one", "", "", "up --try", false, "starting"},
		{"try finds one", "ours", "", "up --try", true, ""},
		{"try finds its own", "ours", "uid", "up --try", true, "uid"},
		{"try may not start one", "theirs", "", "up --try", false, ""},
		{"somebody starts one after a try that failed", "", "starting", "up", false, ""},
		{"somebody wants the one that try has started", "ours", "uid", "up", true, ""},
		{"it is removed", "ours", "uid", "down", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newKindMachine(t, c.node, "ours")
			if c.answers {
				m.program("kubectl", "exit 0")
			}
			if c.record != "" {
				m.write("cache/try", c.record)
			}
			out, err := m.bash("CLUSTER=kind ../cluster/cluster.sh " + c.command)
			if (err != nil) != (c.node == "theirs") {
				t.Fatalf("error %v, want an error: %t\n%s", err, c.node == "theirs", out)
			}
			if got := strings.TrimSpace(m.read("cache/try")); got != c.want {
				t.Errorf("the record is %q, want %q:\n%s", got, c.want, out)
			}
		})
	}
}

// localScripts sources the scripts of the local cluster and makes them look for a node's files in the machine's
// directory.
const localScripts = `command=; . ../cluster/common.sh; . ../cluster/local.sh; . ../cluster/local_down.sh
bin=$ULLAGE_CACHE/bin; node_files=("$HOME/kubelet.conf"); `

func TestLocalClusterRefusesANode(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, setup, want string }{
		{"no node", "", ""},
		{"kubeadm made it one", `touch "$HOME/kubelet.conf"`, "kubelet.conf"},
		{"a kubelet", `pgrep() { echo $PPID; }`, "process "},
		{"a kubelet of the cluster itself", `pgrep() { echo $PPID; }; state=` + filepath.Base(own), ""},
		{"a kubelet that has ended", `pgrep() { echo 4194305; }`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("cache/cluster", "local")
			out, err := m.bash(localScripts + c.setup + `; local_need() { :; }; local_alive() { false; }; here=; local_up`)
			refused := strings.Contains(out, "is a node of another Kubernetes already: ") && strings.Contains(out, "CLUSTER=kind")
			if err == nil || refused != (c.want != "") || !strings.Contains(out, c.want) {
				t.Errorf("error %v, want an error, with %q in the refusal; if that is empty, want no refusal:\n%s", err, c.want, out)
			}
			if (m.read("cache/cluster") == "") != refused {
				t.Errorf("the cluster in use is %q, want it removed from the cache: %t", m.read("cache/cluster"), refused)
			}
		})
	}
}

func TestLocalDownRemovesOnlyWhatUpMade(t *testing.T) {
	const shared, bridge = "kube-proxy --cleanup", "ip link del ullage0"
	for _, c := range []struct{ name, setup, want, not string }{
		{"up made a network", `boot >"$state/made-network"`, shared, "node of another"},
		{"up made none", ":", "", bridge},
		{"the machine has restarted", `echo earlier >"$state/made-network"`, "", shared},
		{"the machine became a node", `boot >"$state/made-network"; touch "$HOME/kubelet.conf"`, bridge, shared},
		{"the rules of a node", `boot >"$state/made-network"; touch "$HOME/kubelet.conf"`, "KUBE-* and the cgroups kubepods stay", "KUBE-FIREWALL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("cache/bin/kube-proxy", "#!/bin/bash\necho \"kube-proxy $*\" >>"+m.path("calls")+"\n")
			m.program("find", "case $1 in /var/log/containers) [ ! -e "+m.path("cache/local")+" ] || echo too early >>"+m.path("calls")+" ;; esac")
			out, err := m.bash(localScripts + `mkdir -p "$state"; ` + c.setup + `; local_down; [ ! -e "$state" ]`)
			if err != nil || !strings.Contains(out, c.want) || strings.Contains(out, c.not) {
				t.Errorf("error %v, want %q and not %q:\n%s", err, c.want, c.not, out)
			}
			if !strings.Contains(out, "find /var/log/containers") || strings.Contains(out, "too early") {
				t.Errorf("want the links to logs removed, and only after the logs:\n%s", out)
			}
			if strings.Contains(out, "rmdir /var/log/containers") {
				t.Errorf("a foreign directory was removed, want no \"rmdir /var/log/containers\" among the calls:\n%s", out)
			}
		})
	}
}

// For decades, BSD's sed has read \t as t. Even with such a sed, the scripts find the node
// image of kind.
func TestTheNodeImageIsFoundWithoutGNUSed(t *testing.T) {
	m := newKindMachine(t, "", "")
	m.program("sed", `exec /usr/bin/env -i PATH=/usr/bin:/bin sed "${@//\\t/t}"`)
	out, err := m.bash("../cluster/cluster.sh node-image 2>/dev/null")
	if image, _, _ := strings.Cut(out, "\n"); err != nil || image != "node:1" {
		t.Errorf(`got %q, error %v, want "node:1"`, out, err)
	}
}

// How images are loaded into an existing cluster depends on the name of its context.
func TestImagesGetIntoAnExistingCluster(t *testing.T) {
	for context, want := range map[string]string{
		"kind-dev":        "kind load image-archive --name dev a.tar",
		"k3d-dev":         "k3d image import --cluster dev a.tar",
		"docker-desktop":  "docker load --input a.tar",
		"rancher-desktop": "docker load --input a.tar",
		"minikube":        "minikube --profile minikube image load a.tar",
		"dev":             "minikube --profile dev image load a.tar", // a profile of minikube
		"production":      "",
	} {
		t.Run(context, func(t *testing.T) {
			m := newMachine(t)
			for _, name := range []string{"kind", "k3d", "docker", "minikube"} {
				m.program(name, "")
			}
			m.program("kubectl", `case $* in
*current-context) echo `+context+` ;;
*'get nodes -l minikube'*) case `+context+` in minikube | dev) echo node/n ;; esac ;;
esac`)
			out, err := m.bash("CLUSTER=existing KUBECONFIG=x ../cluster/cluster.sh load a.tar")
			if want == "" {
				if err == nil || !strings.Contains(out, "push them to a registry") {
					t.Errorf(`got the error %v, want an error, and "push them to a registry" in the output: %s`, err, out)
				}
				return
			}
			if err != nil || !strings.Contains(m.read("calls"), want+"\n") {
				t.Errorf("error %v, want %q in\n%s", err, want, out)
			}
		})
	}
}
