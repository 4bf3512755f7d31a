package cli

import (
	"bufio"
	"cmp"
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
		Title    string `json:"urn:parley:title"`
		Agent    string `json:"urn:parley:agent"`
		Workflow string `json:"urn:parley:workflow"`
		Caller   string `json:"urn:parley:caller"`
		Plan     string `json:"urn:parley:plan"`
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
	var list app.ListTasks
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks, newest first",
		Long: "Lists what the page of tasks shows: yours, those of outside callers, and those of the steps of plans. 50 are printed, or as\n" +
			"many as --limit says, and from where to go on; with --json all, unless --limit is given. With --agent they are the tasks\n" +
			"that this agent lists itself, by its own ids.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctl, done, err := e.control(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			all := e.json && !cmd.Flags().Changed("limit")
			if all {
				list.Limit = 499
			}
			var page app.TaskPage
			tasks := []json.RawMessage{}
			for {
				page.Tasks, page.Next = nil, ""
				if err := ctl.Call(cmd.Context(), "task.list", list, &page); err != nil {
					return err
				}
				tasks = append(tasks, page.Tasks...)
				if !all || page.Next == "" || page.Next == list.After {
					break
				}
				list.After = page.Next
			}
			err = e.print(tasks, func() { e.printTasks(tasks, list.Agent != "") })
			if err == nil && page.Next != "" {
				fmt.Fprintf(e.stderr, "There are more: go on with --after %s\n", page.Next)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&list.State, "state", "", "only those that are open, need you (you), failed, or ended (done)")
	f.StringVar(&list.To, "to", "", "only those that this agent works on")
	f.StringVar(&list.Caller, "caller", "", "only those of this caller: a token's name or id, you, or * for all but you")
	f.IntVar(&list.Days, "days", 0, "only those of the last `n` days")
	f.IntVar(&list.Limit, "limit", 0, "print at most `n`")
	f.StringVar(&list.After, "after", "", "go on behind this task")
	f.StringVar(&list.Agent, "agent", "", "list this agent's own tasks")
	for _, ours := range []string{"state", "to", "caller", "days"} {
		c.MarkFlagsMutuallyExclusive("agent", ours)
	}
	return e.readable(c)
}

// printTasks prints a list: of an agent's own only what it says itself.
func (e *env) printTasks(tasks []json.RawMessage, theirs bool) {
	if len(tasks) == 0 {
		fmt.Fprintln(e.stderr, "There are no such tasks.")
		return
	}
	t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	head := "ID\tSTATE\tWHO\tFOR\tSINCE\tWHAT"
	if theirs {
		head = "ID\tSTATE\tSINCE"
	}
	fmt.Fprintln(t, head)
	for _, raw := range tasks {
		var v taskView
		_ = json.Unmarshal(raw, &v)
		state, m := plainState(a2a.TaskState(v.Status.State)), &v.Metadata
		if theirs {
			fmt.Fprintf(t, "%s\t%s\t%s\n", v.ID, state, v.Status.Timestamp)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, state, v.who(), cmp.Or(m.Caller, "you"), v.Status.Timestamp, m.Title)
	}
	t.Flush()
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
