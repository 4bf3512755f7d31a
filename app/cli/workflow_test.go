package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/app/demo"
	"parley/orchestrator/workflow"
)

// skilled is what the examples may name: the demo agents, as their cards say.
type skilled struct {
	Skills []struct {
		ID   string
		Tags []string
	}
}

func demoCards(t *testing.T) map[string]skilled {
	t.Helper()
	srv, err := demo.Handler(context.Background(), &demo.Options{Base: "http://demo.example/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	cards := map[string]skilled{}
	for _, name := range srv.Names() {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://demo.example/"+name+"/.well-known/agent-card.json", nil))
		var c skilled
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || len(c.Skills) == 0 {
			t.Fatalf("%s: %v, %.100s", name, err, w.Body)
		}
		cards[name] = c
	}
	return cards
}

// The examples have nothing wrong, name agents that the demo has, make plans, and are in the manual.
func TestExampleWorkflows(t *testing.T) {
	t.Parallel()
	cards := demoCards(t)
	names, err := filepath.Glob("../demo/workflows/*.yaml")
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	manual, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{
		"digest.yaml":  `{"topics":["tea","coffee"]}`,
		"publish.yaml": `{"topic":"tea"}`,
		"trip.yaml":    `{"from":"Oslo","to":"Bergen","travellers":["Kari"]}`,
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		w, ps := workflow.Parse(name, src)
		if ps != nil {
			t.Errorf("%s: %v", name, ps)
			continue
		}
		if ps := w.CheckUses(os.ReadFile); ps != nil {
			t.Errorf("%s: %v", name, ps)
		}
		if !strings.Contains(string(manual), filepath.Base(name)) {
			t.Errorf("docs/workflows.md does not speak of %s", filepath.Base(name))
		}
		for i := range w.Steps {
			for _, a := range []*workflow.Agent{w.Steps[i].Agent, w.Steps[i].Fallback} {
				if a != nil && !offered(cards, a) {
					t.Errorf("%s: no demo agent is %s", name, agentWords(a))
				}
			}
		}
		var in map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given[filepath.Base(name)]), &in); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g, err := w.Graph(in, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		inputs, err := w.Given(in)
		if err != nil {
			t.Fatal(err)
		}
		env := &workflow.Env{Inputs: inputs, Steps: map[string]*workflow.Result{}, Round: 1}
		for _, n := range g.Nodes {
			if _, err := workflow.Resolve(n.Spec, env); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			env.Steps[n.ID] = &workflow.Result{Text: "text of " + n.ID, State: "done", Data: map[string]any{}}
		}
		if out, err := workflow.Outputs(g.Spec, env); err != nil || len(out) == 0 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

func offered(cards map[string]skilled, a *workflow.Agent) bool {
	if a.ID != "" {
		return len(cards[a.ID].Skills) > 0
	}
	for _, c := range cards {
		for _, s := range c.Skills {
			has := func(tag string) bool { return slices.Contains(s.Tags, tag) }
			if (a.Skill == "" || a.Skill == s.ID) && !slices.ContainsFunc(a.Tags, func(tag string) bool { return !has(tag) }) {
				return true
			}
		}
	}
	return false
}

// What the manual shows as a file is one.
func TestManualOfWorkflows(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i, block := range strings.Split(string(manual), "```yaml\n") {
		src, _, _ := strings.Cut(block, "```")
		if i == 0 || !strings.Contains(src, "name:") || !strings.Contains(src, "steps:") {
			continue
		}
		shown++
		if _, ps := workflow.Parse("docs/workflows.md", []byte(src)); ps != nil {
			t.Errorf("%v\n%s", ps, src)
		}
	}
	if shown == 0 {
		t.Error("the manual shows no file")
	}
}
