package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/certs"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/internal/kube/webhook"
)

const serveAbout = `ullage-injector serve runs the mutating admission webhook: API servers send it
new pods, and it adds the sidecar.

Usage:
  ullage-injector serve --config FILE --tls-cert FILE --tls-key FILE [flags]
  ullage-injector serve --config FILE --certificate-secret NAME --service NAME
      --webhook-configuration NAME [flags]

Examples:
  ullage-injector serve --config /etc/ullage/config.yaml --tls-cert tls.crt --tls-key tls.key
  ullage-injector serve --config /etc/ullage/config.yaml --certificate-secret ullage-injector-certificate \
      --service ullage-injector --webhook-configuration ullage-injector

With --tls-cert and --tls-key the webhook uses a certificate that cert-manager,
for example, renews, and reads the files again when they change. Without them it
makes and renews a certificate in a Secret that all replicas share and keeps
the caBundle of the webhook configuration current. The pod's service account
must then be allowed to get and update the Secret, and to get and patch the
MutatingWebhookConfiguration, each by its name.

On SIGTERM the webhook continues to answer for --shutdown-delay, finishes the
reviews under way, and exits with 0.
`

// serveGCPercent makes the collector spend more CPU time to keep less memory resident, as gcPercent does in
// 'ullage run'.
const serveGCPercent = 50

// serveConfig has the settings of `ullage-injector serve`.
type serveConfig struct {
	file    string // of the configuration of the sidecar
	open    func(file string) (io.ReadCloser, error)
	inject  wish.Config
	webhook webhook.Config
	certs   certs.Config
	events  bool // create Kubernetes Events
	admin   admin.Config

	log settings.Log
}

// flags declares every setting on fs. In a pod, the namespace is the pod's.
func (c *serveConfig) flags(fs *flag.FlagSet) {
	c.webhook, c.certs, c.admin = webhook.DefaultConfig(), certs.DefaultConfig(), admin.DefaultConfig()
	c.certs.Namespace = kubeapi.PodNamespace()
	c.open = func(file string) (io.ReadCloser, error) { return os.Open(file) }
	settings.Declare(fs, c.groups())
}

// groups returns the settings, by the parts of the injector.
func (c *serveConfig) groups() []settings.Group {
	return []settings.Group{
		{Title: "What is injected", Flags: c.ownFlags},
		{Title: "The webhook", Flags: c.webhook.Flags},
		{Title: "Its certificate", Flags: c.certs.Flags},
		{Title: "Metrics and status", Flags: c.admin.Flags},
	}
}

func (c *serveConfig) ownFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.file, "config", "", "YAML or JSON `FILE` that defines what is injected; required")
	fs.BoolVar(&c.events, "events", false, "create Kubernetes Events on the controllers of pods that were injected or could not be; the service account\nmust be allowed to create events, and the webhook configuration must have the side effects NoneOnDryRun")
	c.log.Flags(fs)
}

// load reads the file and returns one error for each invalid setting in it and in the flags.
func (c *serveConfig) load() []error {
	bad := slices.Concat(c.webhook.Validate(), c.certs.Validate(), c.admin.Validate())
	if c.events && c.certs.Cluster.Validate() != nil {
		bad = append(bad, fmt.Errorf("--events: %w", errors.Join(c.certs.Cluster.Validate()...)))
	}
	if c.file == "" {
		return append(bad, errors.New("--config is missing: name the file that defines what is injected"))
	}
	file, err := c.open(c.file)
	if err != nil {
		return append(bad, fmt.Errorf("read --config: %w", err))
	}
	defer file.Close()
	if c.inject, err = wish.LoadConfig(file); err != nil {
		return append(bad, fmt.Errorf("--config %s: %w", c.file, err))
	}
	for _, err := range c.inject.ValidateForAll() {
		bad = append(bad, fmt.Errorf("--config %s: %w", c.file, err))
	}
	return bad
}

// mutate is a [webhook.Mutate].
func (c *serveConfig) mutate(pod []byte, namespace string) (webhook.Decision, error) {
	result, err := inject.Mutate(pod, namespace, c.inject)
	if err != nil {
		return webhook.Decision{}, err
	}
	d := webhook.Decision{Injected: result.Injected, Warnings: result.Warnings, Refused: string(result.Refused), Denied: result.Denied}
	if len(result.Patch) > 0 {
		if d.Patch, err = json.Marshal(result.Patch); err != nil {
			return webhook.Decision{}, fmt.Errorf("encode the patch: %w", err)
		}
	}
	return d, nil
}

func serveCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg serveConfig
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	cfg.flags(fs)
	cfg.certs.Cluster = kubeapi.InCluster(e.LookupEnv)
	e.Groups = cfg.groups()
	code, ok := e.Parse(fs, serveAbout, args, func() []error { return append(cli.Unexpected(fs.Args()), cfg.load()...) })
	if !ok {
		return code
	}
	debug.SetGCPercent(serveGCPercent)
	if limit, _ := e.LookupEnv("GOMEMLIMIT"); limit == "" {
		debug.SetMemoryLimit(kernel.SoftLimit(math.MaxInt64))
	}
	if err := serve(ctx, cfg, build.Read(version), cfg.log.Logger(e.Stderr)); err != nil {
		return e.Fail("serve", err)
	}
	return cli.OK
}

// serve answers reviews until ctx has ended and the shutdown delay has passed. The admin server runs until the last
// review is answered.
func serve(ctx context.Context, cfg serveConfig, of build.Info, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), of.Metric("ullage_injector_build_info"))
	cfg.webhook.DenyOnError = cfg.inject.OnError == wish.Deny
	for _, reason := range ask.Reasons() {
		cfg.webhook.Reasons = append(cfg.webhook.Reasons, string(reason))
	}
	serving, err := certs.New(cfg.certs, reg, log)
	if err != nil {
		return err
	}
	var recorder *kubeapi.Recorder
	if cfg.events {
		if recorder, err = kubeapi.NewRecorder(cfg.certs.Cluster, reg, log); err != nil {
			return fmt.Errorf("prepare events: %w", err)
		}
		cfg.webhook.OnDecision = func(n webhook.Notice) { recorder.Record(eventOf(n)) }
	}
	hook, err := webhook.New(cfg.webhook, serving, cfg.mutate, reg, log)
	if err != nil {
		return err
	}
	started := time.Now()
	server, err := admin.New(cfg.admin, reg, admin.Answers{Ready: hook.Ready, Status: func() any { return serveStatusOf(of, hook, serving, started) }}, log)
	if err != nil {
		return errors.Join(err, hook.Close())
	}
	listen := cfg.admin.Listen
	if addr := server.Addr(); addr != nil {
		listen = addr.String() // with the actual port
	}
	log.Info("serving", "webhook", hook.Addr().String(), "listen", listen, "config", cfg.file, "version", of.Version)
	// The certificate stays current until the last answer, even after ctx has
	// ended.
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work errgroup.Group
	work.Go(func() error { return server.Run(answering) })
	work.Go(func() error { serving.Run(answering); return nil })
	if recorder != nil {
		work.Go(func() error { recorder.Run(answering); return nil })
	}
	err = hook.Run(ctx)
	stop()
	return errors.Join(err, work.Wait())
}

// eventOf returns an event about a pod's controller. The pod itself has no name yet, and will not exist if another
// webhook refuses it.
func eventOf(n webhook.Notice) kubeapi.Event {
	e := kubeapi.Event{Namespace: n.Namespace, APIVersion: n.Owner.APIVersion, Kind: n.Owner.Kind, Name: n.Owner.Name, UID: string(n.Owner.UID),
		Reason: "Injected", Message: "a pod got the log sidecar", Warning: !n.Injected}
	if !n.Injected {
		e.Reason, e.Message = "NotInjected", "a pod starts without the log sidecar"
	}
	if len(n.Warnings) > 0 {
		e.Message += ": " + strings.Join(n.Warnings, "; ")
	}
	return e
}

// serveStatus is the answer of /status.
type serveStatus struct {
	Version       string    `json:"version"`
	Started       time.Time `json:"started"`
	UptimeSeconds float64   `json:"uptimeSeconds"`

	// Ready and Reason are the answer of /readyz. Reason is empty if Ready is set.
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`

	// CertificateExpiry is absent without a certificate.
	CertificateExpiry time.Time `json:"certificateExpiry,omitzero"`
}

func serveStatusOf(of build.Info, hook *webhook.Server, serving *certs.Serving, started time.Time) serveStatus {
	s := serveStatus{Version: of.Version, Started: started, UptimeSeconds: time.Since(started).Seconds(), CertificateExpiry: serving.Expiry()}
	err := hook.Ready()
	s.Ready = err == nil
	if err != nil {
		s.Reason = err.Error()
	}
	return s
}
