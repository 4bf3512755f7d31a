package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
)

// PushSender reports the events of tasks to the webhooks that their callers registered.
//
//	Set ── registration with a cursor, stored ──┐
//	                                            v
//	log ── Tasks.Events(behind the cursor) ── follower (one a registration, in order) ── target (one an origin) ── POST
//	                                            │ 2xx: the cursor moves      anything else: again later, from the cursor
//
// The log is the outbox: nothing is queued beside it, so nothing can be lost between the two, and what waits for a slow
// webhook costs no memory. What it guarantees:
//
//   - Every event behind a registration's cursor is delivered at least once and in order, also after a crash at any
//     moment. What is delivered again has the same webhook-id: the registration and the event's place in the log.
//   - A delivery that fails is tried again by the schedule of Standard Webhooks (PushRetries), with jitter, and not before
//     the time that a Retry-After names. When the schedule is at its end the registration is dead: it is listed, and
//     Replay goes on from where it stopped. An answer of 410 ends it at once.
//   - No task, no stream and no other webhook waits for a webhook: connections and requests are bounded for each origin.
type PushSender struct {
	o    PushOptions
	log  *slog.Logger
	base context.Context // of everything that is sent
	halt context.CancelFunc

	striped [64]sync.Mutex // one Set or Delete of a task at a time
	seed    maphash.Seed

	mu        sync.Mutex
	resumed   bool // before, nothing is sent
	closing   bool
	followers map[string]*follower // by registration
	targets   map[string]*target   // by origin
	greeted   map[string]time.Time // webhooks that have answered the v0.1 handshake, by URL
	running   sync.WaitGroup

	keeper pushKeeper
}

// PushOptions are the choices of a PushSender. Tasks and Target are required.
type PushOptions struct {
	// Tasks returns the tasks of a scope, which is the name given to For; nil when there is no such scope any more.
	Tasks func(scope string) Tasks

	// Target says how an address is reached, or why it is not: its error is for people. It is asked when a registration
	// is made and whenever its deliveries are taken up. The client must judge each address it connects to by itself: a name may
	// lead elsewhere the next time. Its redirects are not followed.
	Target func(u *url.URL) (PushTarget, error)

	Store PushStore // nil = in memory

	// Sign makes a JWT of claims, by a key that receivers can find, and adds iss. nil: a Bearer scheme without credentials
	// is refused.
	Sign func(claims map[string]any) (string, error)

	Retries []time.Duration // before each attempt after the first; nil = PushRetries
	Timeout time.Duration   // of one attempt; 0 = 15 seconds
	Tap     wire.Tap
	Logger  *slog.Logger // nil = discard
}

// PushTarget is how the webhooks of one origin are reached.
type PushTarget struct {
	HTTP        *http.Client
	Origin      string     // in a form in which two can be compared, for what follows is for each; "" = as the address has it
	Connections int        // at a time; 0 = 2
	Rate        rate.Limit // requests a second; 0 = no limit
}

// PushRetries is the schedule of Standard Webhooks 1.0: ten attempts in three days.
var PushRetries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// longestRetry bounds what a Retry-After may ask for.
const longestRetry = 24 * time.Hour

// NewPushSender returns a sender. Call Resume once the tasks are there.
func NewPushSender(o *PushOptions) *PushSender {
	s := &PushSender{
		o: *o, log: o.Logger, seed: maphash.MakeSeed(),
		followers: map[string]*follower{}, targets: map[string]*target{}, greeted: map[string]time.Time{},
	}
	s.o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	if o.Retries == nil {
		s.o.Retries = PushRetries
	}
	if o.Store == nil {
		s.o.Store = NewMemoryPushStore()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.base, s.halt = context.WithCancel(context.Background())
	s.keeper.init(s.o.Store, s.log)
	return s
}

// For returns the sender for the tasks of one scope.
func (s *PushSender) For(scope string) Pusher { return &scopedPusher{s, scope} }

// Resume takes up the registrations that there are, and lets go of those that are there no more. Nothing is sent before
// it. Where several senders share a store, one of them sends; it resumes now and then, to hear of what the others stored.
func (s *PushSender) Resume(ctx context.Context) error {
	s.mu.Lock()
	again := s.resumed
	s.resumed = true
	gone := map[string]bool{} // unless they are found
	for registration := range s.followers {
		gone[registration] = true
	}
	s.mu.Unlock()
	due := 0
	for r, err := range s.o.Store.Open(ctx) {
		if err != nil {
			return err
		}
		if r.State != PushLive {
			continue
		}
		if gone[r.UID] {
			delete(gone, r.UID)
			continue
		}
		if again {
			if r, err = s.stored(ctx, r); err != nil {
				return err
			} else if r == nil {
				continue
			}
		}
		s.begin(r, time.Duration(due)*time.Second/resumeRate)
		if time.Until(r.Next) <= 0 {
			due++
		}
	}
	for registration := range gone {
		s.end(registration)
	}
	return nil
}

// stored reads a registration once more that nobody here followed when it was read: it may have been followed to its end
// before that was stored. It returns nil when there is nothing to be taken up.
func (s *PushSender) stored(ctx context.Context, r *PushRow) (*PushRow, error) {
	unlock := s.lock(r.Config.TaskID) // nobody begins to follow it meanwhile
	defer unlock()
	s.mu.Lock()
	followed := s.followers[r.UID] != nil
	s.mu.Unlock()
	if followed {
		return nil, nil
	}
	if err := s.keeper.flush(); err != nil {
		return nil, err
	}
	rows, err := s.o.Store.Rows(ctx, r.Config.TaskID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, func(row *PushRow) bool { return row.UID == r.UID && row.State == PushLive })
	if i < 0 {
		return nil, nil
	}
	return rows[i], nil
}

// Pause stops sending until the next Resume, which goes on from there.
func (s *PushSender) Pause() {
	s.mu.Lock()
	s.resumed = false
	all := slices.Collect(maps.Values(s.followers))
	clear(s.followers)
	s.mu.Unlock()
	for _, f := range all {
		s.keeper.note(f.end())
	}
	s.keeper.flush()
}

// resumeRate is how many registrations are taken up a second after a start: each reads its task.
const resumeRate = 500

// Close stops sending. What is being sent gets a moment, two seconds at most, to be answered; the rest is delivered after
// the next Resume. It may be called twice.
func (s *PushSender) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for _, f := range s.followers {
		f.leave()
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() { s.running.Wait(); close(over) }()
	ctx, done := context.WithTimeout(ctx, closeTime)
	defer done()
	select {
	case <-over:
	case <-ctx.Done():
	}
	s.halt()
	<-over
	return s.keeper.close()
}

// closeTime is what deliveries under way get to be answered when the sender closes.
const closeTime = 2 * time.Second

// Registrations returns all registrations whose deliveries are not over, oldest first.
func (s *PushSender) Registrations(ctx context.Context) ([]*PushRow, error) {
	s.keeper.flush()
	var all []*PushRow
	for r, err := range s.o.Store.Open(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, olderRow)
	return all, nil
}

// ErrNoRegistration is the error of Replay for a registration that is not there, or has nothing left to deliver.
var ErrNoRegistration = errors.New("there is no such registration with anything left to deliver")

// Replay goes on with a registration from where it stopped, at once: one that is dead, one that was ended by its webhook,
// or one that waits for its next attempt.
func (s *PushSender) Replay(ctx context.Context, registration string) error {
	rows, err := s.Registrations(ctx)
	if err != nil {
		return err
	}
	is := func(r *PushRow) bool { return r.UID == registration }
	i := slices.IndexFunc(rows, is)
	if i < 0 {
		return ErrNoRegistration
	}
	task := rows[i].Config.TaskID
	unlock := s.lock(task)
	defer unlock()
	if rows, err = s.o.Store.Rows(ctx, task); err != nil { // it may have been deleted meanwhile
		return err
	}
	if i = slices.IndexFunc(rows, is); i < 0 {
		return ErrNoRegistration
	}
	r := rows[i]
	if p, ok := s.end(r.UID); ok {
		r.PushProgress = p
	}
	if r.State == PushDone {
		return ErrNoRegistration
	}
	r.PushProgress = PushProgress{UID: r.UID, Seq: r.Seq}
	if err := s.keeper.write(ctx, r.PushProgress); err != nil {
		return err
	}
	s.begin(r, 0)
	return nil
}

// Forget removes all registrations of a principal, of whatever task.
func (s *PushSender) Forget(ctx context.Context, principal string) error {
	rows, err := s.Registrations(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Principal != principal {
			continue
		}
		err := s.For(r.Scope).Delete(ctx, principal, &a2a.PushDeleteRequest{TaskID: r.Config.TaskID, ID: r.Config.ID})
		if err != nil {
			return err
		}
	}
	return nil
}

// begin starts a follower, after a while or when its next attempt is due.
func (s *PushSender) begin(r *PushRow, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || !s.resumed || s.followers[r.UID] != nil {
		return
	}
	f := newFollower(s, r)
	s.followers[r.UID] = f
	f.park(max(after, time.Until(r.Next)))
}

// end stops a follower and returns where it stopped; ok is false when there was none.
func (s *PushSender) end(registration string) (at PushProgress, ok bool) {
	s.mu.Lock()
	f := s.followers[registration]
	delete(s.followers, registration)
	s.mu.Unlock()
	if f == nil {
		return at, false
	}
	at = f.end()
	s.keeper.drop(registration)
	return at, true
}

// ended takes out a follower that has nothing more to do.
func (s *PushSender) ended(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers[f.row.UID] == f {
		delete(s.followers, f.row.UID)
	}
}

// lock keeps two changes of one task's registrations apart.
func (s *PushSender) lock(task string) (unlock func()) {
	m := &s.striped[maphash.String(s.seed, task)%uint64(len(s.striped))]
	m.Lock()
	return m.Unlock
}

// retryDelay is the time before the next attempt after n failed ones; ok is false at the end of the schedule.
func (s *PushSender) retryDelay(n int, retryAfter time.Duration) (time.Duration, bool) {
	if n > len(s.o.Retries) {
		return 0, false
	}
	d := s.o.Retries[n-1]
	d = time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
	return max(d, min(retryAfter, longestRetry)), true
}

// target returns the queue of an address's origin.
func (s *PushSender) target(u *url.URL) (*target, PushTarget, error) {
	way, err := s.o.Target(u)
	if err != nil {
		return nil, way, err
	}
	if way.HTTP == nil {
		return nil, way, fmt.Errorf("there is no way to %s", u.Host)
	}
	origin := cmp.Or(way.Origin, u.Scheme+"://"+u.Host)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.targets[origin]
	if t == nil {
		t = newTarget(origin, way)
		s.targets[origin] = t
	}
	t.users++
	return t, way, nil
}

// idleTargets is how many origins are remembered for the sake of their limits.
const idleTargets = 1024

// release lets go of a target; one that nobody uses is forgotten.
func (s *PushSender) release(t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	if t.limit == nil {
		delete(s.targets, t.origin)
	} else if len(s.targets) > idleTargets { // a limit outlives its users, or it would be none
		maps.DeleteFunc(s.targets, func(_ string, t *target) bool { return t.users == 0 })
	}
}
