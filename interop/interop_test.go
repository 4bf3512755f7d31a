//go:build interop

// Package interop has other makers' SDKs talk to Parley, and Parley to them: the official Go and JavaScript SDKs, in
// their v0.3 and v1.0 editions, each a program of its own.
//
// TestPeers shows that the peers work among themselves, so that what fails in the others is ours. TestTheirClients has
// their clients call our agents: the demo agents, the same through the gateway, and our own agent. TestOurClient has
// our command line call their agents. With -update the results are written to docs/interop.md.
package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/interop.md")

// token lets the callers in.
const token = "interop-token-that-is-long-enough"

// bin is where the programs are built.
var bin string

// A peer is one edition of somebody's SDK.
type peer struct {
	name, version string
	serve, check  []string
}

func peers() []peer {
	return []peer{
		{"a2a-go 0.3.15", "0.3", []string{filepath.Join(bin, "go03"), "serve"}, []string{filepath.Join(bin, "go03"), "check"}},
		{"@a2a-js/sdk 0.3.14", "0.3", []string{"node", "js03/server.mjs"}, []string{"node", "js03/client.mjs"}},
		{"a2a-go/v2 2.4.0", "1.0", []string{filepath.Join(bin, "go10"), "serve"}, []string{filepath.Join(bin, "go10"), "check"}},
		{"@a2a-js/sdk 1.3.0", "1.0", []string{"node", "js10/server.mjs"}, []string{"node", "js10/client.mjs"}},
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if bin, err = os.MkdirTemp("", "interop"); err != nil {
		log.Fatal(err)
	}
	if err := build(); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	if *update && code == 0 {
		if err := writeTable("../docs/interop.md"); err != nil {
			log.Fatal(err)
		}
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// build makes the programs, and installs the packages of the JavaScript peers as their lock files say.
func build() error {
	steps := [][]string{
		{"go", "build", "-o", filepath.Join(bin, "parley"), ".."},
		{"go", "build", "-C", "go03", "-o", filepath.Join(bin, "go03"), "."},
		{"go", "build", "-C", "go10", "-o", filepath.Join(bin, "go10"), "."},
	}
	for _, dir := range []string{"js03", "js10"} {
		if !installed(dir) {
			steps = append(steps, []string{"npm", "ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund"})
		}
	}
	for _, s := range steps {
		if out, err := exec.Command(s[0], s[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(s, " "), err, out)
		}
	}
	return nil
}

// installed tells whether the packages in dir are those of its lock file.
func installed(dir string) bool {
	have, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err != nil {
		return false
	}
	want, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	return err == nil && !have.ModTime().Before(want.ModTime())
}

// A program is a server that said it is ready.
type program struct {
	ready map[string]string // what stood on its ready line
}

// start runs a server until the test ends. What it logged is shown when the test fails.
func start(t *testing.T, args, env []string) *program {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var logged bytes.Buffer
	cmd.Stderr = &logged
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	exited := make(chan error, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, out)
		exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
			t.Errorf("%s had to be killed", args[0])
		}
		if t.Failed() {
			t.Logf("%s logged:\n%s", strings.Join(args, " "), tail(logged.String(), 60))
		}
	})
	select {
	case line := <-lines:
		p := &program{ready: map[string]string{}}
		for i, field := range strings.Fields(line) {
			key, value, ok := strings.Cut(field, "=")
			if !ok && i == 1 {
				key, value = "a2a", field // a peer says: ready URL
			}
			if p.ready[key], err = url.PathUnescape(value); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.HasPrefix(line, "ready ") || p.ready["a2a"] == "" {
			t.Fatalf("%s is not ready: it said %q", args[0], line)
		}
		return p
	case <-time.After(60 * time.Second):
		t.Fatalf("%s was not ready within a minute", args[0])
	}
	return nil
}

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// run runs a program to its end and returns what it wrote on stdout.
func run(t *testing.T, args, env []string, stdin string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, logged bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &logged
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(logged.String(), 20))
	}
	return out.String(), err
}

// role and plan are what package check reads.
type role struct {
	URL     string   `json:"url"`
	Text    string   `json:"text"`
	Answers []string `json:"answers,omitempty"`
	Task    bool     `json:"task,omitempty"`
}

type plan struct {
	Token  string `json:"token,omitempty"`
	Echo   *role  `json:"echo,omitempty"`
	Stream *role  `json:"stream,omitempty"`
	Ask    *role  `json:"ask,omitempty"`
	Slow   *role  `json:"slow,omitempty"`
	Parts  *role  `json:"parts,omitempty"`
	Files  *role  `json:"files,omitempty"`
}

// runPlan has a peer's client carry out a plan, each check a subtest, and keeps the results under column.
func (p *peer) runPlan(t *testing.T, column string, todo *plan) {
	t.Helper()
	in, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, p.check, nil, string(in))
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	n := 0
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); n++ {
		var r struct {
			Check, Detail string
			OK, None      bool
		}
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if !r.None {
			note(column, p.name, r.Check, r.OK)
		}
		t.Run(r.Check, func(t *testing.T) {
			if !r.OK {
				t.Error(r.Detail)
			}
		})
	}
	if n == 0 {
		t.Fatalf("no check was run: %v", err)
	}
}
