package levels

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/printable"
)

const (
	// lookInterval is how often an [Elsewhere] looks for new JVMs.
	lookInterval = 10 * time.Second

	// maxAsked is how often an [Elsewhere] asks a JVM that does not answer.
	maxAsked = 5

	maxElsewhere = 20 // files that are listed
)

// Elsewhere finds log files that JVMs write outside of the source: a JVM waits
// for the disks of these files, whatever the sidecar does. Elsewhere lists the
// outputs of each JVM once and changes nothing. It asks only JVMs that already
// listen on a socket: any other JVM would need a signal first.
type Elsewhere struct {
	talk  dialogue
	log   *slog.Logger
	gauge prometheus.Gauge
	asked map[string]*inspected // by JVM ID

	mu    sync.Mutex
	files []string
}

// inspected is what is known about one JVM.
type inspected struct {
	times int
	known bool
	files []string // "pid 1: /data/gc.log"
}

// NewElsewhere returns an Elsewhere for a valid cfg.
func NewElsewhere(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Elsewhere {
	cfg.Attach.Mode = attach.SharedTmp
	e := &Elsewhere{talk: newDialogue(cfg), log: log, asked: map[string]*inspected{}, gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ullage_jvm_disk_outputs", Help: "Log files of JVMs outside of the source, as VM.log lists them: a JVM waits for their disks. JVMs that do not listen for attach are not asked."})}
	reg.MustRegister(e.gauge)
	return e
}

// Run looks for JVMs until ctx ends.
func (e *Elsewhere) Run(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		e.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Files lists the files, as "pid 1: /data/gc.log". It is safe for concurrent
// use.
func (e *Elsewhere) Files() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.files
}

// look asks the JVMs that have not answered yet, and forgets the ones that have
// ended.
func (e *Elsewhere) look(ctx context.Context) {
	jvms, _ := e.talk.client.Find(ctx)
	now := map[string]*inspected{}
	var files []string
	for _, j := range jvms {
		in := e.asked[j.ID]
		if in == nil {
			in = &inspected{}
		}
		now[j.ID] = in
		if !in.known && in.times < maxAsked && ctx.Err() == nil {
			in.times++
			var err error
			if in.files, err = e.inspect(ctx, j); err == nil {
				in.known = true
				for _, file := range in.files {
					e.log.Warn("a JVM logs outside of the source", "file", file, "hint", "the JVM waits for that disk; write the log into the source, which is shipped")
				}
			}
		}
		files = append(files, in.files...)
	}
	e.asked = now
	slices.Sort(files)
	e.gauge.Set(float64(len(files)))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files = files[:min(len(files), maxElsewhere)]
}

// inspect lists the outputs of a JVM. A JVM none of whose outputs is shipped is
// ignored.
func (e *Elsewhere) inspect(ctx context.Context, j attach.JVM) (files []string, err error) {
	defer guard(&err)
	outputs, err := e.talk.list(ctx, j)
	if err != nil {
		return nil, err
	}
	ours := false
	for _, o := range outputs {
		switch file := o.File(); {
		case e.talk.ships(j, o):
			ours = true
		case file != "" && !attach.OnNoDisk(file) && !e.talk.client.Ships(j, o):
			files = append(files, fmt.Sprintf("pid %d: %s", j.PID, printable.Escaped(file, maxNamed)))
		}
	}
	if !ours {
		return nil, nil
	}
	return files, nil
}
