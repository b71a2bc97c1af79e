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
	check  *checkpoint.Checkpoint // used only by the writer once the loops run
	detail *detail                // likewise, but detail.held is safe for concurrent use
	reader *reader
	writer *writer

	ended   chan error  // receives once both loops have ended; Run does not wait for that if the destination blocks the writer
	drained atomic.Bool // everything was committed
}

// New returns a Shipper for a valid cfg. Only [Shipper.Run] accesses the source and the
// destination.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Shipper {
	cfg.Tail.LineLimit = cfg.lineLimit()
	cfg.Tail.PersistLevel = cfg.PersistLevel
	cfg.Tail.Frames = cfg.Segment.Compress == segment.Zstd && !cfg.withholds() // the lines of a frame cannot be separated
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
	s.reader = &reader{caught: catching{up: time.Unix(0, 0)}, load: load{busy: true, last: time.Now()}, cfg: cfg, log: log, link: s.link, src: s.src, view: s.view,
		budget: b, press: newPressure(cfg, log, s.link, s.src.Relief, b)}
	return s
}

// connect sets the outlets of a Shipper before the Shipper does anything else.
func connect(s *Shipper, to Outlets) {
	s.to, s.reader.to, s.reader.load.tell, s.reader.budget.room = to, to, to.Busy, to.Room
	s.src.Connect(to.Source)
}

// stallLag is how long a line may wait beyond what the settings allow before the wait is
// reported as a stall.
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

// AwaitTurn waits while another sidecar owns the source, and reports whether that ended
// before ctx did. The source may still be missing.
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

// Saving describes the save that a call of [Shipper.Save] has started or found.
type Saving struct {
	From  time.Time // the oldest held lines were written at or after this time; zero: no lines are held
	Until time.Time // lines that are written before this time are also saved
	Bytes int64     // held bytes, compressed
	Began bool      // nothing was being saved before this call
}

// ErrNoHindsight reports that no lines are held in hindsight, so there is nothing to save.
var ErrNoHindsight = errors.New("no lines are held in hindsight: set --persist-level above trace, and --hindsight")

// Save asks for the lines that are held in hindsight to be persisted, along with the withheld
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
