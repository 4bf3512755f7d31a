//go:build interop

package interop

import (
	"fmt"
	"iter"
	"slices"

	"parley/interop/peer"
)

// fold is what a client has learned from a stream.
type fold struct {
	n, chunks     int
	first         string // kind of the first event
	task, context string
	state         string
	said          []peer.Part // of the last message or status
	artifacts     []peer.Artifact
}

func newFold() *fold { return &fold{} }

func (f *fold) String() string {
	return fmt.Sprintf("%d events, the first a %q; task %s in %s, state %q, %d chunks", f.n, f.first, f.task, f.context, f.state, f.chunks)
}

func (f *fold) all(events iter.Seq2[*peer.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		f.add(e)
	}
	return nil
}

func (f *fold) add(e *peer.Event) {
	if f.n++; f.n == 1 {
		f.first = e.Kind
	}
	set := func(to *string, s string) {
		if s != "" {
			*to = s
		}
	}
	set(&f.task, e.Task)
	set(&f.context, e.Context)
	set(&f.state, e.State)
	switch e.Kind {
	case "task": // a snapshot holds everything so far
		f.said, f.artifacts = e.Said, slices.Clone(e.Artifacts)
	case "artifact":
		f.chunks++
		a := e.Artifacts[0]
		i := slices.IndexFunc(f.artifacts, func(b peer.Artifact) bool { return b.ID == a.ID })
		switch {
		case i < 0:
			f.artifacts = append(f.artifacts, a)
		case e.Append:
			f.artifacts[i].Parts = append(slices.Clone(f.artifacts[i].Parts), a.Parts...)
		default:
			f.artifacts[i] = a
		}
	default:
		f.said = e.Said
	}
}

// answer is the text of the artifacts, or of the last message where there are none.
func (f *fold) answer() string { return answer(&peer.Event{Said: f.said, Artifacts: f.artifacts}) }

func answer(e *peer.Event) string { return peer.Text(flat(e)) }

func flat(e *peer.Event) []peer.Part {
	var all []peer.Part
	for _, a := range e.Artifacts {
		all = append(all, a.Parts...)
	}
	if len(all) == 0 {
		all = e.Said
	}
	return all
}
