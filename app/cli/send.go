package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

func (e *env) sendCmd() *cobra.Command {
	var m app.Message
	var files []string
	c := &cobra.Command{
		Use:   "send [TEXT]",
		Short: "Send a message and print what comes back as it streams",
		Long: "Sends TEXT (or what stands on stdin) to an agent, or to whichever fits best, and prints the answer as it " +
			"streams.\nWhen the agent asks something, the question is put at the prompt. It becomes a conversation like any " +
			"other and can be opened in the page.\nWith --json every line of output is one event.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answers := bufio.NewReader(e.stdin)
			switch {
			case len(args) == 1:
				m.Text = args[0]
			case !terminal(e.stdin):
				b, err := io.ReadAll(answers)
				if err != nil {
					return err
				}
				m.Text = strings.TrimRight(string(b), "\n")
			}
			for _, path := range files {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				m.Files = append(m.Files, app.FilePart{
					Name: filepath.Base(path), Type: mime.TypeByExtension(filepath.Ext(path)), Bytes: b,
				})
			}
			if m.Text == "" && len(m.Files) == 0 {
				return &codedError{exitUsage, errors.New("there is nothing to send: give a text, or --file")}
			}
			ctl, done, err := e.control(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return e.follow(cmd.Context(), ctl, "send", m, answers)
		},
	}
	f := c.Flags()
	f.StringVar(&m.To, "to", orchestrator.Auto, "an agent's id, or auto")
	f.StringVar(&m.Conversation, "conversation", "", "go on in this conversation")
	f.StringArrayVar(&files, "file", nil, "send a file along (may be repeated)")
	return e.readable(c)
}

// follow runs a verb that streams lines, prints them, and answers asks at the prompt.
func (e *env) follow(ctx context.Context, ctl *app.Control, verb string, in any, answers *bufio.Reader) error {
	out := &printer{env: e, ends: true}
	var end app.Line
	err := ctl.Stream(ctx, verb, in, func(raw []byte) error {
		if e.json {
			if _, err := fmt.Fprintf(e.stdout, "%s\n", raw); err != nil {
				return err
			}
		}
		var l app.Line
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		switch l.Kind {
		case "event":
			return out.event(l.Event)
		case "plan":
			out.plan(l.Plan)
		case "ask":
			out.line()
			return e.answer(ctx, ctl, l.Ask, answers)
		case "end":
			end = l
		}
		return nil
	})
	out.line()
	if err != nil {
		return err
	}
	switch a2a.TaskState(end.State) {
	case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled:
		if end.RunFault != nil {
			return end.RunFault
		}
		return fmt.Errorf("the agent ended the task: %s", strings.TrimSpace(plainState(a2a.TaskState(end.State))+". "+out.last))
	}
	return nil
}

// answer puts an ask at the prompt. Without anybody to answer, the ask stays open and the program ends with exitAsking.
func (e *env) answer(ctx context.Context, ctl *app.Control, ask *app.AskInfo, answers *bufio.Reader) error {
	w := e.stderr
	e.printAsk(ask)
	if ask.Kind == orchestrator.AskSignIn {
		fmt.Fprint(w, "Sign in there; the agent goes on by itself.\n")
		return nil
	}
	for {
		fmt.Fprint(w, "> ")
		text, err := answers.ReadString('\n')
		text = strings.TrimSpace(text)
		if err != nil && text == "" {
			fmt.Fprintln(w)
			return &codedError{exitAsking, errors.New("the question stays open: answer it in the page, with `parley asks`, or run this in a terminal")}
		}
		err = ctl.Call(ctx, "answer", app.AnswerTo{Ask: ask.ID, Typed: text, Read: true}, nil)
		var f *orchestrator.Fault
		if errors.As(err, &f) && strings.HasPrefix(f.Kind, "ask-") && f.Kind != "ask-closed" {
			fmt.Fprintf(w, "%s %s\n", f.What, f.Do)
			continue
		}
		return err
	}
}

// printer writes a stream of events to the terminal: artifacts' text as it comes, states and files in plain words.
type printer struct {
	*env
	open  bool // the cursor stands within a line of an agent's text
	state a2a.TaskState
	ends  bool      // somebody tells the end
	last  string    // what an agent said as it ended a task in vain, which is told with the end
	steps *progress // of a plan
}

// plan tells which steps moved on.
func (p *printer) plan(plan *orchestrator.Plan) {
	if p.json {
		return
	}
	if p.steps == nil {
		p.steps = &progress{out: p.stderr, states: map[string]string{}}
	}
	p.line()
	p.steps.show(plan)
}

func (p *printer) event(raw []byte) error {
	if p.json {
		return nil
	}
	ev, err := a2a.UnmarshalEvent(raw)
	if err != nil {
		return err
	}
	switch ev := ev.(type) {
	case *a2a.Message:
		p.parts(ev.Parts)
	case *a2a.Task:
		for i := range ev.Artifacts {
			p.parts(ev.Artifacts[i].Parts)
		}
		p.status(&ev.Status)
	case *a2a.StatusUpdate:
		p.status(&ev.Status)
	case *a2a.ArtifactUpdate:
		if !ev.Append {
			p.line()
		}
		p.parts(ev.Artifact.Parts)
	}
	return nil
}

func (p *printer) parts(parts []a2a.Part) {
	for i := range parts {
		switch q := &parts[i]; q.Kind {
		case a2a.PartText:
			fmt.Fprint(p.stdout, q.Text)
			p.open = q.Text != "" && !strings.HasSuffix(q.Text, "\n")
		case a2a.PartData:
			p.line()
			fmt.Fprintf(p.stdout, "%s\n", q.Data)
		case a2a.PartURL:
			p.line()
			fmt.Fprintf(p.stdout, "[file %s at %s]\n", q.Filename, q.URL)
		case a2a.PartRaw:
			p.line()
			fmt.Fprintf(p.stdout, "[file %s, %s, %d bytes]\n", q.Filename, q.MediaType, len(q.Raw))
		case a2a.PartNoContent:
			p.line()
			fmt.Fprintf(p.stdout, "[file %s, named but not sent]\n", q.Filename)
		}
	}
}

func (p *printer) status(s *a2a.TaskStatus) {
	text := ""
	if s.Message != nil {
		text = a2a.Text(s.Message.Parts)
	}
	if s.State.Interrupted() || (s.State == p.state && text == "") {
		return // the ask says it
	}
	p.state = s.State
	p.line()
	switch {
	case s.State == a2a.TaskStateCompleted: // what is said at the end is part of the answer
		if s.Message != nil {
			p.parts(s.Message.Parts)
		}
		return
	case s.State.Terminal() && p.ends:
		p.last = text
		return
	}
	fmt.Fprintln(p.stderr, strings.TrimSpace("["+plainState(s.State)+"] "+text))
}

// line ends an open line.
func (p *printer) line() {
	if p.open {
		fmt.Fprintln(p.stdout)
		p.open = false
	}
}

// plainState is a state in the words of the page.
func plainState(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateSubmitted:
		return "Sent"
	case a2a.TaskStateWorking:
		return "Working"
	case a2a.TaskStateInputRequired:
		return "Needs your answer"
	case a2a.TaskStateAuthRequired:
		return "Needs you to sign in"
	case a2a.TaskStateCompleted:
		return "Done"
	case a2a.TaskStateCanceled:
		return "Stopped"
	case a2a.TaskStateFailed:
		return "Failed"
	case a2a.TaskStateRejected:
		return "Declined by the agent"
	}
	return string(s)
}
