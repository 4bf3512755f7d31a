package temporal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"parley/a2a"
	"parley/cluster/postgres"
	"parley/cluster/postgres/postgrestest"
	"parley/cluster/temporal"
	"parley/cluster/temporal/servertest"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// cluster is the Temporal server of these tests.
var cluster *servertest.Server

func TestMain(m *testing.M) {
	// A plan takes seconds here, not milliseconds. The command line may say more.
	if err := flag.Set("planruns", "6"); err != nil {
		panic(err)
	}
	code := func() int {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var err error
		if cluster, err = servertest.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			if errors.Is(err, servertest.ErrMissing) && os.Getenv("PARLEY_CLUSTER_TESTS") == "" {
				return 0
			}
			return 1
		}
		defer cluster.Close()
		code := m.Run()
		if server, err := database(); err == nil {
			_ = server.Close()
		}
		return code
	}()
	os.Exit(code)
}

// dial connects to the cluster for as long as the test takes.
func dial(t testing.TB) client.Client {
	t.Helper()
	c, err := temporal.Dial(t.Context(), client.Options{HostPort: cluster.Address, Namespace: cluster.Namespace, Logger: temporal.Log(nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// queue is the setting under which a store of these tests names its task queue: what is of one store must not be carried on
// by a worker of another.
const queue = "test.queue"

// options are short: a worker is missed after a second, and what stands still is found within half of one.
func options(t testing.TB, store orchestrator.Store) *temporal.Options {
	t.Helper()
	name, err := store.Setting(t.Context(), queue)
	if err != nil || name == "" {
		t.Fatalf("the store's queue is %q, %v", name, err)
	}
	return &temporal.Options{Queue: name, Heartbeat: time.Second, Sweep: 100 * time.Millisecond}
}

func newDriver(store orchestrator.Store, caller orchestrator.Caller, host local.Host) *local.Driver {
	return local.New(store, caller, &local.Options{
		Host: host, StopGrace: 500 * time.Millisecond, PollMin: 5 * time.Millisecond, PollMax: 50 * time.Millisecond, PollFailures: 1000,
	})
}

// node is a node and a worker: a driver that takes what people want, and one that does it.
type node struct {
	*local.Driver
	carrier *local.Driver
	worker  *temporal.Worker
}

func (n *node) Tasks(agent string) orchestratortest.Tasks { return tasks{n.Driver.Tasks(agent)} }

func (n *node) Close(ctx context.Context) error {
	n.worker.Stop()
	return errors.Join(n.Driver.Close(ctx), n.carrier.Close(ctx))
}

type tasks struct{ *local.Tasks }

func (t tasks) Start(ctx context.Context, principal string, r *a2a.SendRequest) (string, int64, bool, error) {
	s, err := t.Tasks.Start(ctx, principal, r)
	return s.TaskID, s.After, s.Repeated, err
}

func (t tasks) Launch(ctx context.Context, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (string, int64, bool, error) {
	s, err := t.Tasks.Launch(ctx, principal, r, l)
	return s.TaskID, s.After, s.Repeated, err
}

// newNode starts a node and a worker over one connection.
func newNode(t testing.TB, store orchestrator.Store, caller orchestrator.Caller) orchestratortest.Driver {
	c := dial(t)
	o := options(t, store)
	host := temporal.NewHost(c, o)
	n := &node{Driver: newDriver(store, caller, host), carrier: newDriver(store, caller, host)}
	n.worker = temporal.NewWorker(c, n.carrier, o)
	if err := n.worker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

func newStore(t testing.TB) orchestrator.Store {
	t.Helper()
	return named(t, orchestratortest.Share(orchestratortest.NewMemoryStore()))
}

// named gives a store a queue of its own.
func named(t testing.TB, store orchestrator.Store) orchestrator.Store {
	t.Helper()
	if err := store.Write(t.Context(), &orchestrator.Batch{Settings: map[string]string{queue: t.Name() + "/" + uuid.NewString()}}); err != nil {
		t.Fatal(err)
	}
	return store
}

// What a driver promises holds on a Temporal cluster.
func TestDriver(t *testing.T) {
	t.Parallel()
	orchestratortest.RunDriver(t, newNode, newStore)
}

// So does what it promises of plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	orchestratortest.RunPlans(t, newNode, newStore)
}

// database is where the stores of the tests on PostgreSQL are.
var database = sync.OnceValues(func() (*postgrestest.Server, error) {
	return postgrestest.Start(context.Background())
})

func newPostgres(t testing.TB) orchestrator.Store {
	t.Helper()
	server, err := database()
	if errors.Is(err, postgrestest.ErrMissing) && os.Getenv("PARLEY_CLUSTER_TESTS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	address, err := server.Schema(t.Context(), "t"+strings.ReplaceAll(uuid.NewString(), "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("pool_max_conns", "2") // there are many stores at once
	u.RawQuery = q.Encode()
	db, err := postgres.Open(t.Context(), u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return named(t, db)
}

// So it does with the store that a cluster has.
func TestDriverOnPostgres(t *testing.T) {
	t.Parallel()
	orchestratortest.RunDriver(t, newNode, newPostgres)
}

func TestPlansOnPostgres(t *testing.T) {
	t.Parallel()
	orchestratortest.RunPlans(t, newNode, newPostgres)
}
