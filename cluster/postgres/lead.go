package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// leadEvery is how often it is tried to lead, and looked whether that still holds.
const leadEvery = 2 * time.Second

// Lead calls lead while this process is the one of all that share the store that does what name stands for, until ctx is
// done. lead's context ends when it no longer is, or is not known to be; lead is to end then. It may be called again.
func (db *DB) Lead(ctx context.Context, name string, lead func(ctx context.Context)) {
	for {
		if err := db.lead(ctx, name, lead); err != nil && ctx.Err() == nil {
			db.log.Warn("it is not known which process is to do it", "what", name, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-db.stopped.Done():
			return
		case <-time.After(leadEvery):
		}
	}
}

// lead tries once. The lock is the connection's: it is free when that ends, whatever becomes of this process.
func (db *DB) lead(ctx context.Context, name string, lead func(ctx context.Context)) (err error) {
	connecting, cancel := context.WithTimeout(ctx, db.options.Timeout)
	defer cancel()
	c, err := pgx.ConnectConfig(connecting, db.config.Copy())
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = errors.Join(err, c.Close(closing))
	}()
	// Wait for one's turn on this connection: a process in waiting costs one try every few seconds.
	for {
		var mine bool
		trying, cancel := context.WithTimeout(ctx, db.options.Timeout)
		err := c.QueryRow(trying, `SELECT pg_try_advisory_lock(hashtextextended('parley leads ' || current_schema() || ' ' || $1, 0))`, name).Scan(&mine)
		cancel()
		if err != nil {
			return err
		}
		if mine {
			break
		}
		if err := db.pause(ctx); err != nil {
			return err
		}
	}
	leading, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		lead(leading)
	}()
	defer func() {
		stop()
		<-over
	}()
	for {
		if err := db.pause(ctx); err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, leadEvery)
		err := c.Ping(asking)
		cancel()
		if err != nil {
			return err
		}
	}
}

// pause waits for a moment; it returns early, with an error, when ctx is done or the store is closed.
func (db *DB) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-db.stopped.Done():
		return context.Canceled
	case <-time.After(leadEvery):
		return nil
	}
}
