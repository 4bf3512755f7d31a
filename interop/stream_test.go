//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"

	"parley/interop/peer"
)

// streamed has the agent stream to the end.
func (r *round) streamed(ctx context.Context) (*fold, error) {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Stream})); err != nil {
		return f, err
	}
	return f, nil
}

func (r *round) stream(ctx context.Context) error {
	f, err := r.streamed(ctx)
	if err != nil {
		return err
	}
	want := f.answer()
	if r.Chunks > 0 {
		want = ""
		for i := range r.Chunks {
			want += fmt.Sprintf("chunk %d 東;", i)
		}
	}
	if f.first != "task" && !r.old() || f.state != "completed" || f.chunks < max(r.Chunks, 5) || f.answer() != want || want == "" {
		return fmt.Errorf("%s: %q", f, f.answer())
	}
	return nil
}

// subscribe leaves a stream in the middle and comes back.
func (r *round) subscribe(ctx context.Context) error {
	left := newFold()
	for e, err := range r.c.Stream(ctx, &peer.Message{Text: r.Stream}) {
		if err != nil {
			return err
		}
		if left.add(e); left.chunks == 2 {
			break
		}
	}
	again := newFold()
	if err := again.all(r.c.Subscribe(ctx, left.task)); err != nil {
		return err
	}
	e, err := r.c.Get(ctx, left.task, nil)
	if err != nil {
		return err
	}
	if again.task != left.task || again.state != "completed" || again.answer() == "" || !strings.HasSuffix(answer(e), again.answer()) {
		return fmt.Errorf("left %s; then %s: %q; it became %q", left, again, again.answer(), answer(e))
	}
	return nil
}

func (r *round) artifacts(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Artifacts})); err != nil {
		return err
	}
	e, err := r.c.Get(ctx, f.task, nil)
	if err != nil {
		return err
	}
	const want = "first: one two \nsecond: final\n"
	if streamed, got := named(f.artifacts), named(e.Artifacts); streamed != want || got != want {
		return fmt.Errorf("streamed %q, got %q; want %q", streamed, got, want)
	}
	return nil
}

func named(all []peer.Artifact) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%s: %s\n", a.Name, peer.Text(a.Parts))
	}
	return b.String()
}
