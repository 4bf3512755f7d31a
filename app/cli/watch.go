package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// session is a run being followed, here or at another Parley.
type session struct {
	follow func(ctx context.Context, each func(*app.Line) error) error // to its end
	answer func(ctx context.Context, a app.AnswerTo) error
	server string // of another Parley; "" = here
}

// watcher shows a run, and puts what it asks at the prompt.
type watcher struct {
	*env
	session  *session
	progress *progress
	wait     bool

	run    string
	plan   *orchestrator.Plan
	state  a2a.TaskState
	asks   []*app.AskInfo // open, the first at the prompt
	signs  []*app.AskInfo // sign-ins, which happen elsewhere
	shown  string         // the ask at the prompt
	typed  chan string    // lines; nil until the first ask, and when there are no more
	silent bool           // nobody types any more
}

// watch follows a run to its end, or, where nobody is there to answer, until it waits for somebody.
func (e *env) watch(ctx context.Context, s *session, wait bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &watcher{env: e, session: s, wait: wait, progress: newProgress(e.stderr)}
	defer w.progress.close()
	lines, failed := make(chan *app.Line), make(chan error, 1)
	go func() {
		failed <- s.follow(ctx, func(l *app.Line) error {
			select {
			case lines <- l:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		typed := w.typed
		if len(w.asks) == 0 {
			typed = nil // what is typed ahead is for the next ask
		}
		select {
		case l := <-lines:
			if l.Kind == "end" {
				w.progress.close()
				return w.ended(cmp.Or(l.Plan, w.plan), a2a.TaskState(l.State), l.RunFault, nil)
			}
			if err := w.line(l); err != nil {
				return err
			}
		case text, ok := <-typed:
			if !ok {
				w.typed, w.silent = nil, true
				w.progress.end()
			} else if err := w.take(ctx, text); err != nil {
				return err
			}
		case <-w.progress.tick():
			w.progress.draw()
		case err := <-failed:
			if ctx.Err() != nil && w.run != "" {
				fmt.Fprintf(e.stderr, "parley: no longer followed; see: parley plan %s\n", w.run)
				return errQuiet
			}
			return usageFault(err)
		}
		if w.waits() {
			w.progress.close()
			return w.ended(w.plan, w.state, nil, slices.Concat(w.asks, w.signs))
		}
	}
}

// waits reports whether nothing goes on but what waits for somebody who is not here.
func (w *watcher) waits() bool {
	if w.wait || !w.state.Interrupted() || len(w.asks)+len(w.signs) == 0 {
		return false
	}
	return w.silent || len(w.asks) == 0 && !terminal(w.stdin)
}

func (w *watcher) line(l *app.Line) error {
	switch l.Kind {
	case "run":
		w.run = l.Run
	case "plan":
		w.plan, w.state = l.Plan, a2a.TaskState(l.State)
		w.progress.show(l.Plan)
	case "ask":
		w.open(l)
	}
	return nil
}

// open puts an ask at the prompt, or behind those that are there. One that comes again was answered badly.
func (w *watcher) open(l *app.Line) {
	if l.RunFault != nil {
		w.progress.pause()
		w.fail(l.RunFault)
	}
	if l.Ask.Kind == orchestrator.AskSignIn {
		w.signs = append(w.signs, l.Ask)
		w.progress.pause()
		w.printAsk(l.Ask)
		fmt.Fprint(w.stderr, "Sign in there; it goes on by itself.\n")
		if len(w.asks) == 0 {
			w.progress.resume()
		}
		return
	}
	w.asks = append(w.asks, l.Ask)
	if w.typed == nil && !w.silent {
		w.typed = make(chan string)
		go func(typed chan<- string) {
			defer close(typed)
			for in := bufio.NewReader(w.stdin); ; { // an answer may be longer than a Scanner takes
				line, err := in.ReadString('\n')
				if line != "" {
					typed <- strings.TrimRight(line, "\r\n")
				}
				if err != nil {
					return
				}
			}
		}(w.typed)
	}
	w.prompt()
}

// prompt puts the first ask there, unless it is.
func (w *watcher) prompt() {
	if len(w.asks) == 0 || w.shown == w.asks[0].ID || w.silent {
		return
	}
	w.shown = w.asks[0].ID
	w.progress.pause()
	w.printAsk(w.asks[0])
	fmt.Fprint(w.stderr, "> ")
}

// take answers the ask at the prompt. An answer that it does not take is asked for again.
func (w *watcher) take(ctx context.Context, text string) error {
	ask := w.asks[0]
	err := w.session.answer(ctx, app.AnswerTo{Ask: ask.ID, Typed: text, Read: true})
	var f *orchestrator.Fault
	switch {
	case errors.As(err, &f) && f.Kind == "ask-closed":
		fmt.Fprintln(w.stderr, f.What)
	case errors.As(err, &f):
		fmt.Fprintf(w.stderr, "%s %s\n> ", f.What, f.Do)
		return nil
	case err != nil:
		return err
	}
	w.asks, w.shown = w.asks[1:], ""
	w.progress.resume()
	w.prompt()
	return nil
}

// printAsk puts an ask into words.
func (e *env) printAsk(ask *app.AskInfo) {
	w := e.stderr
	fmt.Fprintf(w, "%s asks: %s\n", cmp.Or(ask.Agent, "Parley"), strings.TrimSpace(ask.Prompt))
	for i, c := range ask.Choices {
		fmt.Fprintf(w, "  %d  %s  %s\n", i+1, c.Label, c.Detail)
	}
	for _, l := range ask.Links {
		fmt.Fprintf(w, "  open %s\n", l.URL)
	}
	if len(ask.Schema) > 0 {
		fmt.Fprintf(w, "  wanted, as JSON: %s\n", ask.Schema)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
