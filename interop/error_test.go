//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/interop/peer"
)

func (r *round) getUnknown(ctx context.Context) error {
	_, err := r.c.Get(ctx, unknown, nil)
	return wants(err, "task-not-found")
}

func (r *round) cancelUnknown(ctx context.Context) error {
	_, err := r.c.Cancel(ctx, unknown)
	return wants(err, "task-not-found")
}

func (r *round) subscribeUnknown(ctx context.Context) error {
	return wants(newFold().all(r.c.Subscribe(ctx, unknown)), "task-not-found")
}

func (r *round) cancelCompleted(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	_, err = r.c.Cancel(ctx, e.Task)
	return wants(err, "task-not-cancelable")
}

func (r *round) sendToCompleted(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	_, err = r.c.Send(ctx, &peer.Message{Text: r.Task, Task: e.Task, Context: e.Context})
	return wants(err, "unsupported-operation", "invalid-params", "invalid-request")
}

// wants expects an error of one of the kinds.
func wants(err error, kinds ...string) error {
	if errors.Is(err, peer.ErrNone) {
		return err
	}
	if err == nil {
		return fmt.Errorf("no error; want %s", strings.Join(kinds, " or "))
	}
	var f *peer.Failure
	if !errors.As(err, &f) || !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("%w; want %s", err, strings.Join(kinds, " or "))
	}
	return nil
}
