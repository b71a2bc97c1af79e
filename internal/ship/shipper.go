package ship

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Shipper ships one source directory to one destination. Create it with
// [New], then call [Shipper.Run] once.
type Shipper struct {
	cfg     Config
	to      Outlets
	log     *slog.Logger
	reg     prometheus.Registerer
	metrics *metrics
	view    *view

	src    *tail.Source
	store  atomic.Pointer[store.Store] // nil: the destination has not answered yet
	link   *link
	check  *checkpoint.Checkpoint // the writer's alone once the loops run
	detail *detail                // likewise, but its held is safe for concurrent use
	reader *reader
	writer *writer

	ended   chan error  // both loops have ended; Run does not wait for them if the destination holds the writer
	drained atomic.Bool // everything was committed
}

// New returns a Shipper for a valid cfg. It touches neither the source nor the
// destination: [Shipper.Run] does.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Shipper {
	cfg.Tail.LineLimit = cfg.lineLimit()
	cfg.Tail.PersistLevel = cfg.PersistLevel
	cfg.Tail.Frames = cfg.Segment.Compress == segment.Zstd && !cfg.withholds() // the lines of a frame cannot be told apart
	s := &Shipper{cfg: cfg, log: log, reg: reg, view: &view{turn: make(chan struct{})}, ended: make(chan error, 1)}
	s.link = newLink(cfg)
	s.metrics = newMetrics(reg, s.link, s.view, s.Ready)
	s.src = tail.New(cfg.Tail, reg, log)
	s.check = checkpoint.New()
	s.detail = &detail{level: cfg.PersistLevel, log: log, check: &s.check.Withheld, unheld: s.metrics.unheld}
	if cfg.withholds() && cfg.Hindsight > 0 {
		s.detail.held = hindsight.New(cfg.Hindsight, heldBytes(minBudget))
	}
	b := &budget{cfg: cfg, log: log, link: s.link, view: s.view, src: s.src.Relief, held: s.detail.held}
	s.reader = &reader{caughtUp: time.Unix(0, 0), load: load{busy: true, last: time.Now()}, cfg: cfg, log: log, link: s.link, src: s.src, view: s.view,
		budget: b, press: newPressure(cfg, log, s.link, s.src.Relief, b)}
	return s
}

// connect sets the outlets of a Shipper, before it does anything else.
func connect(s *Shipper, to Outlets) {
	s.to, s.reader.to, s.reader.load.tell = to, to, to.Busy
	s.src.Connect(to.Source)
}

// stallLag is how much longer than the settings ask for a line may wait before that
// counts as a stall.
const stallLag = 5 * time.Second

// Ready returns why lines do not become durable now, or nil when they do.
func (s *Shipper) Ready() error {
	if failure := s.link.health.current(); failure != nil {
		return failure
	}
	if err := s.view.notReady(); err != nil {
		return err
	}
	if lag := s.link.lag(time.Now()); lag > stallLag+2*s.cfg.SyncInterval {
		return fmt.Errorf("the destination stalls: a line has waited for %s", lag.Round(time.Second))
	}
	return s.link.health.refusal()
}

// AwaitTurn waits while another sidecar owns the source, and reports whether
// that was over before ctx ended. The source may still be missing.
func (s *Shipper) AwaitTurn(ctx context.Context) bool {
	select {
	case <-s.view.turn:
		return true
	case <-ctx.Done():
	}
	select {
	case <-s.view.turn:
		return true
	default:
		return false
	}
}

// Saving is what a call of [Shipper.Save] has begun.
type Saving struct {
	From  time.Time // since when the oldest held lines were written; zero: no lines are held
	Until time.Time // lines that are written until then are saved as well
	Bytes int64     // held bytes, compressed
	Began bool      // nothing was being saved before
}

// ErrNoHindsight reports that no lines are held in hindsight, so none can be saved.
var ErrNoHindsight = errors.New("no lines are held in hindsight: set --persist-level above trace, and --hindsight")

// Save asks for the lines that are held in hindsight to be persisted, as well as the withheld
// lines of the coming period of the same length. Each stream's lines go into a stream with
// [naming.DetailSuffix]. Save does not wait for that, and is safe for concurrent use.
func (s *Shipper) Save() (Saving, error) {
	held := s.detail.held
	if held == nil {
		return Saving{}, ErrNoHindsight
	}
	now, st := time.Now(), held.Stats()
	until := now.Add(s.cfg.Hindsight)
	held.SaveUntil(until)
	select {
	case s.link.save <- struct{}{}:
	default: // the writer has yet to see an earlier call
	}
	return Saving{From: st.Oldest, Until: until, Bytes: st.Bytes, Began: st.Until.Before(now)}, nil
}
