package frontend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

// sinks are what puts text into HTML, the page, an address, a style, a clipboard, a file's name, a notification, or in front
// of another program, without that language escaping it by itself.
var sinks = map[string]*regexp.Regexp{
	".templ": regexp.MustCompile(`templ\.(Raw|Safe\w+|JS\w+|FromGoHTML|WithNonce)|style=|<script|\bon\w+=|srcdoc|http-equiv`),
	".ts": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|setHTML|DOMParser|createContextualFragment|createHTML|document\.write|srcdoc|\beval\(|new Function\b|` +
		`setAttribute\("(href|src|style|action|formaction|xlink:href|on\w+)"|\.(src|href|action|cssText) = |\.style\b|attributeStyleMap|insertRule|` +
		`location\.(assign|replace)\(|location(\.href)? = |window\.open|clipboard\.write|new Notification|postMessage\(|document\.title = |import\(`),
	".js": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|srcdoc|\beval\(|new Function\b|\.style\b|postMessage\(`),
	".go": regexp.MustCompile(`template\.(HTML|JS|URL|CSS)\b|templ\.(Raw|Safe\w+|JS\w+)|Content-Disposition"|exec\.Command|BrowserOpenURL|WindowSetTitle|SaveFileDialog|SendNotification|"Notify"|"text/template"|onScreen\(`),
}

// Every sink there is stands in docs/sinks.md, with what makes it safe and with tests that there are; and nothing else does.
func TestSinksAreListed(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, root := range []string{"../frontend", "../app"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			if d.IsDir() {
				if slices.Contains([]string{"static", "testdata", "node_modules", "demo"}, name) || strings.HasSuffix(name, "test") {
					return filepath.SkipDir
				}
				return nil
			}
			sink := sinks[filepath.Ext(name)]
			if sink == nil || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") || strings.HasSuffix(name, ".min.js") {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(b)) {
				line = strings.TrimSpace(line)
				if !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "/*") && sink.MatchString(line) {
					found[strings.TrimPrefix(filepath.ToSlash(path), "../")+": "+line] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 50 {
		t.Fatalf("%d sinks were found: they are not looked for where they are", len(found))
	}

	doc, err := os.Open("../docs/sinks.md")
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	listed, inList := map[string]bool{}, false
	tests := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	named := map[string]bool{}
	for s := bufio.NewScanner(doc); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, "```") {
			inList = line == "```sinks"
			continue
		}
		if inList {
			listed[strings.TrimSpace(line)] = true
		}
		for _, m := range tests.FindAllStringSubmatch(line, -1) {
			named[m[1]] = true
		}
	}
	for s := range found {
		if !listed[s] {
			t.Errorf("this sink is not in docs/sinks.md, with what makes it safe:\n%s", s)
		}
	}
	for s := range listed {
		if !found[s] {
			t.Errorf("docs/sinks.md lists a sink that is not there:\n%s", s)
		}
	}
	there := testNames(t, "..")
	for name := range named {
		if !there[name] {
			t.Errorf("docs/sinks.md names the test %s, which is not there", name)
		}
	}
	if len(named) < 10 {
		t.Errorf("docs/sinks.md names %d tests", len(named))
	}
}

// testNames are the tests of a tree.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	test := regexp.MustCompile(`^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		for line := range bytes.Lines(b) {
			if m := test.FindSubmatch(line); m != nil {
				names[string(m[1])] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What a hostile agent, caller or file of a workflow writes is harmless on the pages of runs, workflows, questions, tasks, the
// wire, callers and tokens, too.
func TestSinksOfRunsAndCallers(t *testing.T) {
	t.Parallel()
	for _, evil := range corpus {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			fault := &orchestrator.Fault{Kind: evil, Where: orchestrator.Where(evil), What: evil, Do: evil, Raw: evil, Retry: true}
			p := plan()
			p.Name, p.Fault = evil, fault
			for i := range p.Nodes {
				n := &p.Nodes[i]
				n.Title, n.Text, n.Fault, n.Kind = evil, evil, fault, evil
				n.Data, _ = json.Marshal(evil)
				for j := range n.Calls {
					n.Calls[j].AgentID = evil
					for k := range n.Calls[j].Artifacts {
						a := &n.Calls[j].Artifacts[k]
						a.Name, a.ArtifactID = evil, evil
					}
				}
			}
			o := &office{
				plans: map[string]*orchestrator.Plan{"r1": p}, problems: []orchestrator.WorkflowProblem{{Line: 1, Column: 1, What: evil, Do: evil}},
				kept: []*orchestrator.Workflow{{ID: "made", Name: evil, Description: evil, Source: []byte(evil), Updated: clock}},
				runs: []*orchestrator.Run{{ID: "r1", Created: clock, State: a2a.TaskState(evil)}, {ID: "r1", Created: clock, State: a2a.TaskStateFailed}},
			}
			served := &host{served: orchestrator.Published{
				On: true, Address: evil, Fingerprint: evil, Cards: []orchestrator.ServedCard{{Version: evil, Path: evil, JSON: []byte(evil)}},
				Callers: []orchestrator.CallerUse{{ID: evil, Name: evil, Waiting: clock}, {ID: "u2", Name: evil, Tasks: 7, Last: clock}},
			}, tokens: []*orchestrator.Token{{ID: evil, Name: evil, Agents: []string{evil}, Used: clock}}}
			w := newWorld(t, &Options{Planner: o, Library: o, Publisher: served})
			l := inspected(w)
			l.task.ID, l.task.ContextID = evil, evil
			l.task.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(evil), {Kind: a2a.PartURL, URL: evil, Filename: evil}}}
			l.task.Artifacts = []a2a.Artifact{{ID: evil, Name: evil, Parts: []a2a.Part{a2a.TextPart(evil)}}}
			for _, push := range l.pushes {
				push.Who, push.URL, push.State, push.Error = evil, evil, evil, evil
			}
			l.wire.RecordWire(&orchestrator.WireRecord{
				At: clock, Peer: evil, RunID: evil, TaskID: evil, Method: evil, Dialect: evil, URL: evil, Err: evil, Status: 200,
				Header: map[string][]string{evil: {evil}}, Request: []byte(evil), Response: []byte(evil),
			})
			w.chatWith("c1", &orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemAgent, AgentID: evil, Text: evil})
			w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{
				ID: "q7", RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: evil, Kind: orchestrator.AskKind(evil), Prompt: evil, State: orchestrator.AskOpen, Opened: clock,
			}}})
			for _, path := range []string{
				"/runs/r1", "/c/c1?run=r1", "/workflows", "/workflows/made", "/workflows/made/compare?a=r1&b=r1", "/inbox", "/inbox?ask=q7", "/inbox?view=answered",
				"/tasks", "/tasks/r1", "/tasks/at/atlas/far", "/wire", "/wire?id=5", "/wire?id=5&show=raw", "/wire?id=5&show=headers", "/my-agent", "/palette?q=a", "/complete?q=%40",
			} {
				checkPage(t, path, w.get(path).body)
			}
		})
	}
}
