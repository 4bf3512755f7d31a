package check

import "iter"

// fold is what a client has learned from a stream.
type fold struct {
	n, chunks     int
	first         string // kind of the first event
	task, context string
	state         string
	text          string
}

func (f *fold) all(events iter.Seq2[*Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		f.add(e)
	}
	return nil
}

func (f *fold) add(e *Event) {
	if f.n++; f.n == 1 {
		f.first = e.Kind
	}
	if e.TaskID != "" {
		f.task = e.TaskID
	}
	if e.ContextID != "" {
		f.context = e.ContextID
	}
	if e.State != "" {
		f.state = e.State
	}
	switch e.Kind {
	case "artifact":
		f.chunks++
		f.text += Text(e.Parts)
	case "message":
		f.text += Text(e.Parts)
	case "status":
		if f.text == "" {
			f.text = Text(e.Parts)
		}
	case "task": // a snapshot holds everything so far
		f.text = Text(e.Parts)
	}
}
