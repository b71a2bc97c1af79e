package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const clusterScript = "test/cluster/cluster.sh"

// cluster starts a cluster, or takes the running one, and makes kubectl use it.
func (t *try) cluster(ctx context.Context) error {
	t.env = t.clusterEnv()
	if wanted := os.Getenv("CLUSTER"); wanted != "" && wanted != t.kind() {
		return fmt.Errorf("CLUSTER is %s, but the cluster in use is %s: run make cluster-down CLUSTER=%[2]s first", wanted, t.kind())
	}
	if !t.clusterIsUp(ctx) {
		if _, err := t.script(ctx, clusterScript, "up", "--try"); err != nil {
			return err
		}
	}
	if err := t.use(ctx); err != nil {
		return err
	}
	if t.record().read() != starting {
		return nil
	}
	uid, err := t.uid(ctx)
	if err != nil || t.record().read() != starting { // another user has requested the cluster meanwhile
		return err
	}
	return t.record().write(uid)
}

func (t *try) clusterIsUp(ctx context.Context) bool {
	_, err := t.call(ctx, "", "bash", clusterScript, "status")
	return err == nil
}

// clusterEnv returns the environment of the scripts. KUBECONFIG may name any cluster: it is used only if CLUSTER or
// an earlier cluster.sh chose it.
func (t *try) clusterEnv() []string {
	if t.kind() == "existing" {
		return os.Environ()
	}
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "KUBECONFIG=") })
}

// use makes every later command use the cluster and find the plugin.
func (t *try) use(ctx context.Context) error {
	t.env = t.clusterEnv()
	settings, err := t.call(ctx, "", "bash", "-c", `eval "$(`+clusterScript+` env)" && printf '%s\n%s' "$KUBECONFIG" "$PATH"`)
	if err != nil {
		return err
	}
	kubeconfig, path, _ := strings.Cut(settings, "\n")
	t.env = append(t.env, "KUBECONFIG="+kubeconfig, "PATH="+filepath.Join(t.root, "bin")+string(os.PathListSeparator)+path)
	// A program is looked up on the PATH of this process.
	return os.Setenv("PATH", path)
}

// uid returns the identity of a cluster: the uid of a namespace that is never deleted.
func (t *try) uid(ctx context.Context) (string, error) {
	uid, err := t.kubectl(ctx, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
	if err == nil && uid == "" {
		err = errors.New("the namespace kube-system has no uid")
	}
	return uid, err
}

// record is the file that records that up has started the cluster. It contains the cluster's uid, or starting. Any
// other call of cluster.sh up or down removes the record, so that another user's cluster is never mistaken for this
// one.
type record string

// starting is what cluster.sh up --try writes, under its lock, before it starts a cluster. Then up replaces it with
// the uid.
const starting = "starting"

func (r record) write(uid string) error {
	if err := errors.Join(os.MkdirAll(filepath.Dir(string(r)), 0o755), os.WriteFile(string(r), []byte(uid), 0o644)); err != nil {
		return fmt.Errorf("record that the cluster is started: %w", err)
	}
	return nil
}

// read returns what was written, or nothing.
func (r record) read() string {
	uid, err := os.ReadFile(string(r))
	if err != nil {
		return "" // there is no record
	}
	return strings.TrimSpace(string(uid))
}

// forget removes the record of a cluster that is gone.
func (r record) forget() error {
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget the cluster: %w", err)
	}
	return nil
}

// record returns the record of the cluster of test/cluster.
func (t *try) record() record { return record(filepath.Join(t.cache, "try")) }

// kind returns the kind of the cluster: local, kind or existing.
func (t *try) kind() string {
	kind, err := os.ReadFile(filepath.Join(t.cache, "cluster"))
	if err != nil {
		return os.Getenv("CLUSTER")
	}
	return strings.TrimSpace(string(kind))
}

// again returns the setting with which a later command of make uses the same cluster.
func again() string {
	if cluster := os.Getenv("CLUSTER"); cluster != "" {
		return " CLUSTER=" + cluster
	}
	return ""
}

// plugin returns the path of the kubectl plugin that make has built.
func (t *try) plugin() string {
	name := "kubectl-ullage"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(t.root, "bin", name)
}

// printEnv prints the settings of cluster.sh, with the plugin on the PATH.
func (t *try) printEnv(ctx context.Context) error {
	t.env = t.clusterEnv()
	settings, err := t.script(ctx, clusterScript, "env")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "%s\nexport PATH='%s':$PATH\n", settings, filepath.Join(t.root, "bin"))
	return err
}
