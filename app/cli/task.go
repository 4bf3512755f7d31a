package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parley/a2a"
	"parley/app"
)

func (e *env) taskCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "task", Short: "Get, list, cancel and follow tasks",
		Long: "A task is a run of ours, by the id that `send` and `task list` print; with --agent it is that agent's own " +
			"task, by the agent's id for it.",
	}
	c.AddCommand(e.taskGetCmd(), e.taskListCmd(), e.taskCancelCmd(), e.taskSubscribeCmd())
	return c
}

// taskView is a task as the verbs answer it: its v1.0 JSON.
type taskView struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State     string `json:"state"`
		Timestamp string `json:"timestamp"`
	} `json:"status"`
	Metadata struct {
		Agent    string `json:"urn:parley:agent"`
		Workflow string `json:"urn:parley:workflow"`
	} `json:"metadata"`
}

// who says who works on a task of ours.
func (t *taskView) who() string {
	if t.Metadata.Workflow != "" {
		return "/" + t.Metadata.Workflow
	}
	return t.Metadata.Agent
}

func (e *env) printTask(raw json.RawMessage) error {
	return e.print(raw, func() {
		var t taskView
		_ = json.Unmarshal(raw, &t)
		fmt.Fprintf(e.stdout, "%s\t%s\t%s\n", t.ID, t.Status.State, t.Status.Timestamp)
		ev, err := json.Marshal(map[string]json.RawMessage{"task": raw})
		if err == nil {
			p := &printer{env: e}
			_ = p.event(ev)
			p.line()
		}
	})
}

func (e *env) taskGetCmd() *cobra.Command {
	var ref app.TaskRef
	c := &cobra.Command{
		Use: "get ID", Short: "Print a task", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref.ID = args[0]
			var raw json.RawMessage
			if err := e.call(cmd.Context(), "task.get", ref, &raw); err != nil {
				return err
			}
			return e.printTask(raw)
		},
	}
	c.Flags().StringVar(&ref.Agent, "agent", "", "ask this agent for its own task")
	return e.readable(c)
}

func (e *env) taskListCmd() *cobra.Command {
	var ref app.TaskRef
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tasks := []json.RawMessage{}
			if err := e.call(cmd.Context(), "task.list", ref, &tasks); err != nil {
				return err
			}
			return e.print(tasks, func() {
				t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tSTATE\tWHO\tSINCE")
				for _, raw := range tasks {
					var v taskView
					_ = json.Unmarshal(raw, &v)
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", v.ID, plainState(a2a.TaskState(v.Status.State)), v.who(), v.Status.Timestamp)
				}
				t.Flush()
			})
		},
	}
	c.Flags().StringVar(&ref.Agent, "agent", "", "list this agent's own tasks")
	return e.readable(c)
}

func (e *env) taskCancelCmd() *cobra.Command {
	var ref app.TaskRef
	c := &cobra.Command{
		Use: "cancel ID", Short: "Ask for a task to stop", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref.ID = args[0]
			var raw json.RawMessage
			if err := e.call(cmd.Context(), "task.cancel", ref, &raw); err != nil {
				return err
			}
			return e.printTask(raw)
		},
	}
	c.Flags().StringVar(&ref.Agent, "agent", "", "cancel this agent's own task")
	return e.readable(c)
}

func (e *env) taskSubscribeCmd() *cobra.Command {
	var ref app.TaskRef
	c := &cobra.Command{
		Use: "subscribe ID", Aliases: []string{"follow"}, Short: "Print a task's events as they come", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref.ID = args[0]
			ctl, done, err := e.control(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return e.follow(cmd.Context(), ctl, "task.subscribe", ref, bufio.NewReader(e.stdin))
		},
	}
	c.Flags().StringVar(&ref.Agent, "agent", "", "follow this agent's own task")
	return e.readable(c)
}
