package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parley/a2a"
)

// probeEvery is how often the writer tries whether writing is possible again.
const probeEvery = time.Second

// Codes of the server that mean more to us than that a statement failed.
const (
	codeMoved    = "PA001" // of check_claims
	codeUnique   = "23505"
	codeForeign  = "23503"
	codeReadOnly = "25006"
	codeDiskFull = "53100"
	codeDeadlock = "40P01"
	codeSerial   = "40001"
)

// code is the server's code of an error, "" when it is none of the server's.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// lostError is an error after which the connection is gone.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// lost reports whether an error is that there is no connection, so that it is not known what became of what was sent.
func lost(err error) bool {
	var server *pgconn.PgError
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if errors.As(err, &server) {
		return strings.HasPrefix(server.Code, "57P") || strings.HasPrefix(server.Code, "08") // the server ended it
	}
	var gone *lostError
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &gone) || errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// fatal reports whether an error concerns the database, and so everybody, rather than one batch.
func fatal(err error) bool {
	if lost(err) {
		return true
	}
	switch c := code(err); {
	case c == codeReadOnly, strings.HasPrefix(c, "53"), strings.HasPrefix(c, "58"), strings.HasPrefix(c, "XX"),
		strings.HasPrefix(c, "28"), strings.HasPrefix(c, "3D"), c == "42501", c == "55P03", c == "57014", c == "25P03":
		return true
	}
	return false
}

// explain says in plain words why the database does not do as it should. Other errors are returned as they are.
func explain(err error) error {
	var known *a2a.Error
	if err == nil || !fatal(err) || errors.As(err, &known) {
		return err
	}
	sick := func(message string) error {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: message, Err: err}
	}
	const reads = " What is stored can still be read."
	switch c := code(err); {
	case c == codeDiskFull:
		return sick("The disk of the database is full. Nothing more is stored until there is room again." + reads)
	case c == "53300":
		return sick("The database has no room for another connection. Nothing is stored until it has.")
	case c == codeReadOnly:
		return sick("The database takes no writes: it may be a copy of another one. Nothing is stored until it does." + reads)
	case c == "42501":
		return sick("Parley may not write the database. Nothing is stored until it may." + reads)
	case strings.HasPrefix(c, "28"), strings.HasPrefix(c, "3D"):
		return sick("The database does not let Parley in.")
	case strings.HasPrefix(c, "XX"):
		return sick("The database is damaged. Nothing more is stored, so that it does not get worse.")
	case c == "55P03", c == "57014", c == "25P03":
		return sick("The database is too busy. Nothing is stored until it keeps up." + reads)
	case lost(err):
		return sick("The database cannot be reached. Nothing is stored until it can.")
	}
	return sick("The database reported an error of its machine. Nothing is stored until writing works again." + reads)
}

// fail puts the store into read-only mode.
func (w *writer) fail(err error) {
	var sick *a2a.Error
	if !errors.As(explain(err), &sick) {
		return
	}
	if w.sick.Swap(sick) == nil {
		w.db.log.Error("the store takes no more writes", "error", err)
	}
}

// probe tries whether writing is possible again.
func (w *writer) probe() {
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	err := w.connect(ctx)
	if err == nil {
		// It is one's turn as for any other write, but those who are refused meanwhile are not to wait for that.
		waiting, cancel := context.WithTimeout(ctx, probeEvery)
		defer cancel()
		var b pgx.Batch
		b.Queue(turn)
		b.Queue(`INSERT INTO counters (name, value) VALUES ('trial', 1) ON CONFLICT (name) DO UPDATE SET value = counters.value + 1`)
		err = w.c.SendBatch(waiting, &b).Close()
	}
	if err != nil {
		w.drop()
		return
	}
	w.sick.Store(nil)
	w.db.log.Info("the store takes writes again")
}
