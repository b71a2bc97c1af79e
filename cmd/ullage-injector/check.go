package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/kubeapi"
)

const checkAbout = `ullage-injector check checks the settings of 'serve', with the same code,
without serving. It reports all mistakes on stderr, and then exits with 2.

Usage:
  ullage-injector check --config FILE [flags of 'serve']
  ullage-injector check -f FILE|-

Examples:
  helm template ullage charts/ullage --values values.yaml | ullage-injector check -f -
  ullage-injector check --config config.yaml --tls-cert tls.crt --tls-key tls.key

With -f it checks every injector in a YAML file of Kubernetes objects: the
arguments and the environment of each Deployment that runs 'serve', with the
configuration in its ConfigMap.
`

// manifestFlag names the file with Kubernetes objects.
const manifestFlag = "f"

func checkCmd(_ context.Context, args []string, e cli.Env) int {
	var cfg serveConfig
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	cfg.flags(fs)
	file := fs.String(manifestFlag, "", "YAML `FILE` with Kubernetes objects; - is standard input")
	cfg.certs.Cluster = kubeapi.InCluster(e.LookupEnv)
	code, ok := e.Parse(fs, checkAbout, args, func() []error {
		bad := cli.Unexpected(fs.Args())
		if *file == "" {
			return append(bad, cfg.load()...)
		}
		fs.Visit(func(f *flag.Flag) {
			if f.Name != manifestFlag {
				bad = append(bad, fmt.Errorf("--%s cannot be combined with -%s: the file has the settings", f.Name, manifestFlag))
			}
		})
		return bad
	})
	if !ok || *file == "" {
		return code
	}
	text, err := (&injectConfig{file: *file}).read(e.Stdin)
	if err != nil {
		return e.Fail("check", err)
	}
	found, err := findInjectors(text)
	if err != nil {
		return e.Fail("check", err)
	}
	for _, i := range found {
		if result := i.check(e); result != cli.OK {
			code = result
		} else {
			fmt.Fprintf(e.Stderr, "%s: the settings are valid\n", printable.Line(i.name))
		}
	}
	return code
}

// injector is a container that runs 'serve'.
type injector struct {
	name string   // of its Deployment
	args []string // of 'serve'
	env  map[string]string

	// files are the files of its mounted ConfigMaps, by path.
	files map[string]string
}

// check parses the arguments as 'serve' does in the container.
func (i injector) check(e cli.Env) int {
	e.LookupEnv = func(name string) (string, bool) { v, ok := i.env[name]; return v, ok }
	e.Environ = slices.Sorted(maps.Keys(i.env))
	var cfg serveConfig
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	cfg.flags(fs)
	cfg.open = func(name string) (io.ReadCloser, error) {
		text, ok := i.files[path.Clean(name)]
		if !ok {
			return nil, fmt.Errorf("%s is not in any ConfigMap that %s mounts", name, i.name)
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	cfg.certs.Cluster = kubeapi.InCluster(e.LookupEnv)
	code, _ := e.Parse(fs, checkAbout, i.args, func() []error { return append(cli.Unexpected(fs.Args()), cfg.load()...) })
	return code
}

// object has the fields of a Kubernetes object that check needs.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []container
				Volumes    []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
}

type container struct {
	Args         []string
	Env          []struct{ Name, Value string }
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// findInjectors returns the injectors in a YAML file.
func findInjectors(text []byte) ([]injector, error) {
	var objects []object
	maps := map[string]map[string]string{} // the data of ConfigMaps, by namespace/name
	d := yaml.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		var document yaml.Node
		err := d.Decode(&document)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", number, err)
		}
		var kind struct{ Kind string }
		if document.Decode(&kind) != nil || kind.Kind != "Deployment" && kind.Kind != "ConfigMap" {
			continue
		}
		var o object
		if err := document.Decode(&o); err != nil {
			return nil, fmt.Errorf("read document %d, a %s: %w", number, kind.Kind, err)
		}
		objects = append(objects, o)
		if o.Kind == "ConfigMap" {
			maps[o.Metadata.Namespace+"/"+o.Metadata.Name] = o.Data
		}
	}
	var found []injector
	for _, o := range objects {
		for _, c := range o.Spec.Template.Spec.Containers {
			if len(c.Args) > 0 && c.Args[0] == "serve" {
				found = append(found, o.injector(c, maps))
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no Deployment in the file has a container that runs 'serve'")
	}
	return found, nil
}

// injector returns the settings of a container of the object.
func (o object) injector(c container, maps map[string]map[string]string) injector {
	i := injector{name: o.Kind + " " + strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/"), args: c.Args[1:], files: map[string]string{},
		env: map[string]string{"KUBERNETES_SERVICE_HOST": "kubernetes.default.svc", "KUBERNETES_SERVICE_PORT": "443"}} // Kubernetes sets these in every container
	for _, v := range c.Env {
		i.env[v.Name] = v.Value
	}
	for _, m := range c.VolumeMounts {
		for _, v := range o.Spec.Template.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			for file, text := range maps[o.Metadata.Namespace+"/"+v.ConfigMap.Name] {
				i.files[path.Join(m.MountPath, file)] = text
			}
		}
	}
	return i
}
