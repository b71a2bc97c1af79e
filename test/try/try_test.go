package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkout returns a try in a directory with a cluster.sh, a kubectl and a helm that only record how they are called.
// Asked for the cluster's uid or for a namespace, this kubectl prints a file that the test has written.
func checkout(t *testing.T, clusterIsUp bool) (*try, func() string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	status := "1"
	if clusterIsUp {
		status = "0"
	}
	write("test/cluster/cluster.sh", `#!/bin/bash
echo "cluster.sh $* KUBECONFIG=${KUBECONFIG:-}" >>`+calls+`
case $1 in
status) exit `+status+` ;;
env) echo 'export KUBECONFIG=chosen' ;;
esac
`)
	write("programs/kubectl", `#!/bin/bash
echo "kubectl $*" >>`+calls+`
case "$*" in
*"namespace kube-system"*) cat `+dir+`/uid ;;
*"get namespace"*) cat `+dir+`/namespace 2>/dev/null ;;
esac
exit 0
`)
	write("uid", "this-cluster")
	write("programs/helm", "#!/bin/bash\necho \"helm $*\" >>"+calls+"\n")
	t.Setenv("PATH", filepath.Join(dir, "programs")+":"+os.Getenv("PATH"))
	t.Setenv("KUBECONFIG", "production")
	t.Setenv("CLUSTER", "")
	said := &strings.Builder{}
	tr := &try{root: dir, cache: filepath.Join(dir, "cache"), version: "v1", out: said, errs: said}
	return tr, func() string {
		text, _ := os.ReadFile(calls) // a missing file: nothing was called
		return string(text) + said.String()
	}
}

// namespaceIs makes the cluster answer that a namespace exists and that its label says who made it; empty: it has no
// such label.
func namespaceIs(t *testing.T, tr *try, by string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(tr.root, "namespace"), []byte(namespace+" "+by), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDown(t *testing.T) {
	for _, c := range []struct {
		name       string
		up         bool
		record, by string
		want, not  string
	}{
		{"the cluster was there before", true, "", markValue, "kubectl delete namespace ullage-try ", "cluster.sh down"},
		{"another cluster was started once", true, "another-cluster", markValue, "kubectl delete namespace ullage-try-system", "cluster.sh down"},
		{"up started the cluster", true, "this-cluster", markValue, "cluster.sh down", "kubectl delete"},
		{"up did not come to an end", false, starting, "", "cluster.sh down", "kubectl"},
		{"up started the cluster, which does not answer now", false, "this-cluster", "", "cluster.sh down", "nothing to remove"},
		{"`make try` did not create the namespaces", true, "", "", "there is no namespace ullage-try that `make try` created", "delete"},
		{"nothing is there", false, "", "", "there is nothing to remove", "kubectl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, called := checkout(t, c.up)
			namespaceIs(t, tr, c.by)
			if c.record != "" {
				if err := tr.record().write(c.record); err != nil {
					t.Fatal(err)
				}
			}
			if err := tr.down(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := called(); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("want %q and not %q in the calls and the output, got:\n%s", c.want, c.not, got)
			}
			if tr.record().read() != "" {
				t.Error("the record of the cluster was not removed")
			}
		})
	}
}

// cluster.sh decides whether up has started the cluster.
func TestUpRecordsTheClusterThatItStarted(t *testing.T) {
	for _, c := range []struct{ name, writes, want string }{
		{"it starts the cluster", starting, "this-cluster"},
		{"somebody else has started one since it looked", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, called := checkout(t, false)
			script := filepath.Join(tr.root, clusterScript)
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(tr.cache, 0o755); err != nil {
				t.Fatal(err)
			}
			text = append(text, "[ \"$*\" != 'up --try' ] || printf '"+c.writes+"\n' >"+filepath.Join(tr.cache, "try")+"\n"...)
			if err := os.WriteFile(script, text, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := tr.cluster(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := tr.record().read(); got != c.want {
				t.Errorf("the record is %q, want %q:\n%s", got, c.want, called())
			}
		})
	}
}

// A cluster without a uid is never mistaken for one that up has started, whether there is a record or not.
func TestDownKeepsAClusterWithoutAUID(t *testing.T) {
	for _, record := range []string{"", "another-cluster"} {
		tr, called := checkout(t, true)
		if err := os.WriteFile(filepath.Join(tr.root, "uid"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if record != "" {
			if err := tr.record().write(record); err != nil {
				t.Fatal(err)
			}
		}
		if err := tr.down(t.Context()); (err != nil) != (record != "") {
			t.Errorf("with the record %q: error %v, want an error: %t", record, err, record != "")
		}
		if got := called(); strings.Contains(got, "cluster.sh down") {
			t.Errorf("with the record %q, the cluster was stopped, want no \"cluster.sh down\" among the calls:\n%s", record, got)
		}
	}
}

func TestUpRefuses(t *testing.T) {
	t.Run("a namespace of somebody else", func(t *testing.T) {
		tr, called := checkout(t, true)
		namespaceIs(t, tr, "")
		if err := tr.install(t.Context()); err == nil || !strings.Contains(err.Error(), "was not made by `make try`") {
			t.Errorf("the error is %v, want \"was not made by `make try`\" in it", err)
		}
		if got := called(); strings.Contains(got, "helm") || strings.Contains(got, "kubectl create") {
			t.Errorf("something was installed, want neither \"helm\" nor \"kubectl create\" among the calls:\n%s", got)
		}
	})
	t.Run("another cluster than the one in use", func(t *testing.T) {
		tr, called := checkout(t, false)
		if err := tr.record().write(""); err != nil { // creates the cache
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tr.cache, "cluster"), []byte("local\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CLUSTER", "kind")
		if err := tr.cluster(t.Context()); err == nil || !strings.Contains(err.Error(), "make cluster-down CLUSTER=local") {
			t.Errorf(`the error is %v, want "make cluster-down CLUSTER=local" in it`, err)
		}
		if got := called(); got != "" || tr.record().read() != "" {
			t.Errorf("the record is %q, want no record and no call; the calls and the output:\n%s", tr.record().read(), got)
		}
	})
}

// The cluster of KUBECONFIG may be one that people work with, so it is used only with CLUSTER=existing.
func TestKubeconfigIsTakenOnRequestAlone(t *testing.T) {
	for name, want := range map[string]string{"": "KUBECONFIG=\n", "existing": "KUBECONFIG=production\n"} {
		tr, called := checkout(t, true)
		t.Setenv("CLUSTER", name)
		if err := tr.cluster(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := called(); !strings.Contains(got, "cluster.sh status "+want) {
			t.Errorf("CLUSTER=%s: want the calls to use KUBECONFIG only if CLUSTER is existing, got:\n%s", name, got)
		}
	}
}

// The error of a failed step says what to do.
func TestFailureHasAHint(t *testing.T) {
	tr, called := checkout(t, true)
	err := tr.step("images", "Do this.", func() error {
		_, err := tr.script(t.Context(), "deploy/image/build.sh", "tar")
		return err
	})
	if err == nil || !strings.HasSuffix(err.Error(), "\nDo this.") || !strings.Contains(called(), "No such file") {
		t.Errorf("the error is %v, want \"\\nDo this.\" at its end, and \"No such file\" in the output:\n%s", err, called())
	}
}
