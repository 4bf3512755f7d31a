// Package cli is the command line of Parley: `parley serve` and the commands that work beside it.
//
// Commands that read or change something go through the control socket of the process that has the data directory;
// when there is none they open the directory themselves, under its lock, for as long as they run. Results go to stdout,
// logs to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage (also a name that nothing has here), 3 the data directory is
// in use, 4 an answer is needed; workflow run and plan, which share a directory that is in use, end with 3 while an answer
// is needed.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
	exitInUse  = 3
	exitAsking = 4
)

// Main runs the program with args (without the program's name) and returns its exit code. The first end of ctx asks a
// server to drain. A program that is built with more than this one brings an Edition.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, editions ...*Edition) int {
	e := &env{stdin: stdin, stdout: onScreen(stdout), stderr: onScreen(stderr)}
	if len(editions) > 0 {
		e.edition = editions[0]
	}
	root := e.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	code := exitFailed
	var coded *codedError
	var unknown *orchestrator.Fault
	switch {
	case errors.As(err, &coded):
		code = coded.code
	case errors.As(err, &unknown) && unknown.Where == orchestrator.WhereUs && slices.Contains([]string{"not-found", "no-workflow", "filter"}, unknown.Kind):
		code = exitUsage // a name that nothing has here
	}
	if !errors.Is(err, errQuiet) {
		e.fail(err)
	}
	if !e.began {
		fmt.Fprintf(e.stderr, "  usage: %s\n  what to do: see %s --help\n", cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}
	return code
}

// env is what every command works with.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	data    string // --data
	json    bool   // --json
	verbose bool

	edition *Edition // nil for the program as it is
	began   bool     // the arguments and flags are those that the command takes
}

// codedError ends the program with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// errQuiet ends a command that has said on its own what went wrong.
var errQuiet = errors.New("failed")

func (e *env) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Talk to A2A agents, chain them, and be one",
		Long: "Parley finds A2A agents, talks to them in the version they speak, keeps every event, and is an A2A agent " +
			"itself.\nWithout a command it opens: as a window where it was built with one, else in the browser.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&e.data, "data", "", "data `directory` (default: $PARLEY_DATA, else in the user's configuration directory)")
	root.PersistentFlags().BoolVarP(&e.verbose, "verbose", "v", false, "log more")
	root.AddCommand(
		e.serveCmd(), e.demoCmd(), e.openCmd(), e.agentsCmd(), e.sendCmd(), e.taskCmd(), e.asksCmd(), e.planCmd(), e.tokenCmd(), e.pushCmd(), e.exportCmd(),
		e.workflowCmd(), e.modelCmd(), e.loginCmd(), e.doctorCmd(), e.versionCmd(),
	)
	e.launch(root)
	e.extend(root)
	e.watchUsage(root)
	return root
}

// watchUsage notes when c, or a command below it, begins: what fails before that is wrong usage. A group of commands takes
// nothing but the name of one, and says which it may have been.
func (e *env) watchUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		e.watchUsage(sub)
	}
	if !c.Runnable() {
		c.Args = groupArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || c.HasSubCommands() {
				return err
			}
			return wrongArgs(c, args)
		}
	}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		e.began = true
		return run(cmd, args)
	}
}

// wrongArgs says what is wrong with the number of arguments, in the words of the command's usage.
func wrongArgs(c *cobra.Command, args []string) error {
	var names []string
	for _, name := range strings.Fields(c.Use)[1:] {
		if strings.HasPrefix(name, "|") || strings.HasPrefix(name, "-") {
			break // what may stand in their place
		}
		names = append(names, strings.TrimSuffix(name, "..."))
	}
	needed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "[") })
	switch missing := needed[min(len(args), len(needed)):]; {
	case len(missing) == 1:
		return fmt.Errorf("%s is missing", strings.ReplaceAll(missing[0], "|", " or "))
	case len(missing) > 1:
		return fmt.Errorf("%s are missing", strings.Join(missing, " and "))
	case len(names) == 0:
		return fmt.Errorf("%q is too much: %s takes flags only", args[0], c.CommandPath())
	}
	return fmt.Errorf("%q is too much: put quotes around what has blanks in it", args[min(len(names), len(args)-1)])
}

func groupArgs(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return fmt.Errorf("%w%s", err, meant(c, args[0]))
	}
	return nil
}

// meant names the commands of c that a word may have been; "" when there are none.
func meant(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2
	if names := c.SuggestionsFor(word); len(names) > 0 {
		return ": did you mean " + strings.Join(names, ", or ") + "?"
	}
	return ""
}

// fail tells a person what went wrong: what happened, where, and what to do about it.
func (e *env) fail(err error) {
	var f *orchestrator.Fault
	if !errors.As(err, &f) {
		fmt.Fprintln(e.stderr, "parley: "+err.Error())
		return
	}
	fmt.Fprintf(e.stderr, "parley: %s\n", f.What)
	if f.Where != "" {
		fmt.Fprintf(e.stderr, "  where: %s\n", plainWhere(f.Where))
	}
	if f.Do != "" {
		fmt.Fprintf(e.stderr, "  what to do: %s\n", f.Do)
	}
	if f.Raw != "" {
		fmt.Fprintf(e.stderr, "  it said: %s\n", f.Raw)
	}
}

// plainWhere names the side of a failure.
func plainWhere(w orchestrator.Where) string {
	switch w {
	case orchestrator.WhereUs:
		return "here, in Parley"
	case orchestrator.WhereNetwork:
		return "on the way to the agent"
	case orchestrator.WhereAgent:
		return "at the agent"
	case orchestrator.WhereSignIn:
		return "at the sign-in"
	}
	return string(w)
}

func (e *env) dir() (string, error) {
	if e.data != "" {
		return e.data, nil
	}
	return app.DefaultDataDir()
}

func (e *env) logger() *slog.Logger {
	level := slog.LevelInfo
	if e.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
}

// print writes v as JSON with --json, else calls plain.
func (e *env) print(v any, plain func()) error {
	if !e.json {
		plain()
		return nil
	}
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// readable adds --json to a command that reads.
func (e *env) readable(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&e.json, "json", false, "print JSON")
	return c
}

// control returns a connection to the process that has the data directory, which becomes this one when there is none.
func (e *env) control(ctx context.Context) (*app.Control, func(), error) {
	dir, err := e.dir()
	if err != nil {
		return nil, nil, err
	}
	if c, err := app.Dial(ctx, dir); err == nil {
		return c, func() {}, nil
	}
	quiet := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	a, err := e.open(ctx, &app.Config{Data: dir, Version: version(), Passphrase: os.Getenv("PARLEY_PASSPHRASE"), Logger: quiet})
	if errors.Is(err, app.ErrRunning) { // it started in between
		c, err := app.Dial(ctx, dir)
		return c, func() {}, err
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := app.Dial(ctx, dir)
	if err != nil {
		_ = a.Close(ctx)
		return nil, nil, err
	}
	return c, func() { _ = a.Close(context.WithoutCancel(ctx)) }, nil
}

// call runs one verb.
func (e *env) call(ctx context.Context, verb string, in, out any) error {
	c, done, err := e.control(ctx)
	if err != nil {
		return err
	}
	defer done()
	return c.Call(ctx, verb, in, out)
}

// release is the version that whoever packs the program says it is (-ldflags "-X parley/app/cli.release=…").
var release = ""

// version is the release, the module's version, or the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case release != "":
		return release
	case !ok:
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "0.1.0"
}

func (e *env) versionCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return e.print(map[string]string{"version": version()}, func() { fmt.Fprintln(e.stdout, "parley "+version()) })
		},
	})
}

// terminal reports whether w is one.
func terminal(w any) bool {
	if s, ok := w.(*screen); ok {
		w = s.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
