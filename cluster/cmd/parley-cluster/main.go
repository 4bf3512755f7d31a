// Command parley-cluster is Parley for those who outgrow one machine: the same program, with everything kept in PostgreSQL
// and runs carried on by the workers of a Temporal cluster. docs/scale.md says how to run it.
//
//	parley-cluster serve   a node: the page, A2A and gRPC, as `parley serve`
//	parley-cluster worker  carries the runs of all nodes on
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"parley/app"
	"parley/app/cli"
	"parley/cluster/postgres"
	"parley/cluster/temporal"
)

func main() {
	c := &cluster{}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, &cli.Edition{
		Name: "parley-cluster", Flags: c.flags, Configure: c.configure, Work: c.work,
	}))
}

// cluster is what the flags say, and the connection to Temporal.
type cluster struct {
	store, temporal, namespace, secrets string
	cert, key, ca                       string
	options                             temporal.Options

	client client.Client
}

func (c *cluster) flags(f *pflag.FlagSet) {
	f.StringVar(&c.store, "store", "", "PostgreSQL `URL` of the store that all nodes and workers share (default: $PARLEY_STORE)")
	f.StringVar(&c.temporal, "temporal", "", "`address` of the Temporal cluster (default: $PARLEY_TEMPORAL, else 127.0.0.1:7233)")
	f.StringVar(&c.namespace, "namespace", "default", "`name` of the namespace on the Temporal cluster")
	f.StringVar(&c.options.Queue, "task-queue", "parley", "`name` of the task queue; one for each store")
	f.DurationVar(&c.options.Heartbeat, "heartbeat", 10*time.Second, "after which a worker that is not heard of is dead")
	f.DurationVar(&c.options.Sweep, "sweep", 30*time.Second, "between looks for runs that stand still")
	f.IntVar(&c.options.Carried, "carry", 2000, "how many runs a worker carries on at a time")
	f.StringVar(&c.cert, "temporal-cert", "", "PEM `file` with our certificate for Temporal")
	f.StringVar(&c.key, "temporal-key", "", "PEM `file` with its key")
	f.StringVar(&c.ca, "temporal-ca", "", "PEM `file` with who may have signed Temporal's certificate")
	f.StringVar(&c.secrets, "secrets", "", "`directory` of the agents' credentials that all nodes and workers share; PARLEY_PASSPHRASE locks it")
}

// configure connects to what the program needs beside its data directory.
func (c *cluster) configure(ctx context.Context, cfg *app.Config) (func(), error) {
	address := cmp.Or(c.store, os.Getenv("PARLEY_STORE"))
	if address == "" {
		return nil, errors.New("--store is missing: the PostgreSQL URL of the store that all nodes and workers share")
	}
	cfg.Store = func(ctx context.Context, _ string, log *slog.Logger) (app.Storage, error) {
		db, err := postgres.Open(ctx, address, &postgres.Options{Logger: log})
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	cfg.Secrets = c.secrets
	o, err := c.dialOptions(cfg.Logger)
	if err != nil {
		return nil, err
	}
	if c.client, err = temporal.Dial(ctx, o); err != nil {
		return nil, err
	}
	c.options.Logger = cfg.Logger
	cfg.Host = temporal.NewHost(c.client, &c.options)
	return c.client.Close, nil
}

// dialOptions say how Temporal is reached: in plain text, or with TLS when a key to it is given or it is called https.
func (c *cluster) dialOptions(log *slog.Logger) (client.Options, error) {
	address := cmp.Or(c.temporal, os.Getenv("PARLEY_TEMPORAL"), "127.0.0.1:7233")
	host, secure := strings.CutPrefix(address, "https://")
	o := client.Options{HostPort: host, Namespace: c.namespace, Logger: temporal.Log(log), Identity: temporal.Identity()}
	if key := os.Getenv("PARLEY_TEMPORAL_API_KEY"); key != "" {
		o.Credentials, secure = client.NewAPIKeyStaticCredentials(key), true
	}
	if !secure && c.cert == "" && c.ca == "" {
		return o, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if (c.cert == "") != (c.key == "") {
		return o, errors.New("--temporal-cert and --temporal-key belong together")
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return o, fmt.Errorf("the certificate for Temporal cannot be used: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return o, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return o, fmt.Errorf("%s holds no certificate", c.ca)
		}
	}
	o.ConnectionOptions.TLS = t
	return o, nil
}

// work carries runs on.
func (c *cluster) work(ctx context.Context, a *app.App, cfg *app.Config, ready func()) error {
	w := temporal.NewWorker(c.client, a.Driver(), &c.options)
	if err := w.Start(ctx); err != nil {
		return err
	}
	defer w.Stop()
	ready()
	cfg.Logger.Info("ready", "queue", c.options.Queue, "version", cfg.Version)
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.Failed():
		return fmt.Errorf("the worker can do nothing any more: %w", err)
	}
}
