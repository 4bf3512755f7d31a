//go:build interop

// Package interop has other makers' SDKs talk to Parley, and Parley to them, in every dialect and binding. Each SDK
// edition is a peer: a program of its own that serves an agent, and a client that does what it is told line by line
// (package peer).
//
// Every agent obeys the same script, and every client goes through the same checks, which are written once, here:
//
//	TestPeers         each SDK's client calls its own agent: what fails is not ours
//	TestTheirClients  their clients call our agent, the same through the gateway of `parley serve`, and Parley's own agent
//	TestOurClient     our client calls their agents
//	TestParley        a real `parley serve` calls their agents: files, webhooks
//	TestGateway       a client of one generation reaches an agent of another through `parley serve`
//	TestFaultsAreSeen an agent that does everything wrong turns every check red
//
// What is a peer's own fault stands in defects_test.go with its evidence; it is tried all the same, and an entry that is
// no longer true is an error. After a whole run the results are compared with docs/interop.md; -update writes it.
package interop

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/interop/peer"
)

var (
	update = flag.Bool("update", false, "write docs/interop.md")
	plant  = flag.Bool("plant", false, "have our agent make a mistake, to see that it is found")
)

// token lets the callers in.
const token = "interop-token-that-is-long-enough"

// bin is where the programs are built.
var bin string

// A sdk is one edition of somebody's SDK.
type sdk struct {
	name, version string
	program       []string // followed by "serve BINDING" or "client"
	bindings      []string
	doubles       bool // it keeps numbers as doubles
}

func sdks() []*sdk {
	built := func(name string) []string { return []string{filepath.Join(bin, name)} }
	js := func(name string) []string { return []string{"node", filepath.Join(name, "peer.mjs")} }
	py := func(name string) []string {
		return []string{filepath.Join(name, ".venv", "bin", "python"), filepath.Join(name, "peer.py")}
	}
	java := []string{"java", "-XX:TieredStopAtLevel=1", "-jar", filepath.Join("java03", "target", "quarkus-app", "quarkus-run.jar")}
	rpc := []string{peer.JSONRPC}
	all := []string{peer.JSONRPC, peer.REST, peer.GRPC}
	list := []*sdk{
		{"trpc-a2a-go 0.0.3", "0.1", built("go01"), rpc, true},
		{"trpc-a2a-go 0.2.5", "0.2", built("go02"), rpc, true},
		{"@a2a-js/sdk 0.2.5", "0.2", js("js02"), rpc, true},
		{"a2a-sdk 0.2.16", "0.2", py("py02"), []string{peer.JSONRPC, peer.GRPC}, false},
		{"a2a-go 0.3.15", "0.3", built("go03"), []string{peer.JSONRPC, peer.GRPC}, true},
		{"@a2a-js/sdk 0.3.14", "0.3", js("js03"), all, true},
		{"a2a-sdk 0.3.26", "0.3", py("py03"), all, false},
		{"a2a-java 0.3.3.Final", "0.3", java, rpc, false},
		{"a2a-go/v2 2.4.0", "1.0", built("go10"), all, true},
		{"@a2a-js/sdk 1.3.0", "1.0", js("js10"), all, true},
		{"a2a-sdk 1.1.0", "1.0", py("py10"), all, true},
	}
	return slices.DeleteFunc(list, func(s *sdk) bool { return s.program[0] == "java" && lacksJava() })
}

// lacksJava tells that the Java peer was left out by install.sh.
func lacksJava() bool {
	_, err := os.Stat(filepath.Join("java03", "target", "quarkus-app", "quarkus-run.jar"))
	return err != nil
}

// A pairing is an SDK in one binding.
type pairing struct {
	*sdk
	binding string
}

func pairings() []pairing {
	var all []pairing
	for _, s := range sdks() {
		for _, b := range s.bindings {
			all = append(all, pairing{s, b})
		}
	}
	return all
}

func (p pairing) String() string { return p.name + " " + p.binding }

// serve starts the SDK's agent, with a trait or without, and returns where its card is.
func (p pairing) serve(t *testing.T, trait ...string) string {
	return start(t, slices.Concat(p.program, []string{"serve", p.binding}, trait), nil).ready["a2a"]
}

// round is a round of checks with p as the peer.
func (p pairing) round(c peer.Client) *round {
	proto := p.binding != peer.JSONRPC && p.version != "1.0"
	return &round{c: c, script: obey, version: p.version, proto: proto, doubles: p.doubles || proto} // a2a.v1 has doubles only
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
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if whole && lacksJava() {
		fmt.Println("The Java peer is left out, and so the results are not compared.")
		if os.Getenv("CI") != "" {
			code = max(code, 1)
		}
	} else if whole && !*plant {
		if err := results.compare("../docs/interop.md", *update); err != nil {
			fmt.Println(err)
			code = max(code, 1)
		}
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// build makes the programs. What they need is there after `make interop-deps`.
func build() error {
	steps := [][]string{{"go", "build", "-o", filepath.Join(bin, "parley"), ".."}}
	for _, name := range []string{"go01", "go02", "go03", "go10"} {
		steps = append(steps, []string{"go", "build", "-C", name, "-o", filepath.Join(bin, name), "."})
	}
	for _, s := range steps {
		if out, err := exec.Command(s[0], s[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(s, " "), err, out)
		}
	}
	return nil
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
	logged := &quiet{}
	cmd.Stderr = logged
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
			if strings.HasSuffix(args[0], "parley") {
				t.Errorf("%s had to be killed", args[0])
			}
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
			t.Fatalf("%s is not ready: it said %q and logged:\n%s", strings.Join(args, " "), line, tail(logged.String(), 20))
		}
		return p
	case <-time.After(3 * time.Minute): // a busy machine takes its time to start a JVM
		t.Fatalf("%s was not ready within three minutes", args[0])
	}
	return nil
}

// quiet keeps what a program logs.
type quiet struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (q *quiet) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buf.Write(b)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buf.String()
}

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// run runs a program to its end and returns what it wrote on stdout.
func run(t *testing.T, args, env []string, stdin string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
