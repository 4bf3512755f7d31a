package workflow

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"parley/orchestrator/engine"
)

func TestCheckUses(t *testing.T) {
	t.Parallel()
	call := "- {id: z, agent: x, message: m}\n"
	files := map[string]string{
		"d/leaf.yaml":  "name: n\ninputs: {n: {type: integer}, o: {required: false}}\nsteps:\n" + call,
		"d/loop1.yaml": "name: n\nsteps:\n- {id: a, use: ./loop2.yaml}\n",
		"d/loop2.yaml": "name: n\nsteps:\n- {id: a, use: ../d/loop1.yaml}\n",
	}
	for i := range engine.MaxDepth + 2 { // each uses the next
		files[fmt.Sprintf("d/%d.yaml", i)] = fmt.Sprintf("name: n\nsteps:\n- {id: a, use: ./%d.yaml}\n", i+1)
	}
	files[fmt.Sprintf("d/%d.yaml", engine.MaxDepth+2)] = "name: n\nsteps:\n" + call
	for i := range engine.MaxDepth - 1 { // a thousand times each
		files[fmt.Sprintf("d/wide%d.yaml", i)] = "name: n\nsteps:\n" + wide(fmt.Sprintf("./wide%d.yaml", i+1))
	}
	files[fmt.Sprintf("d/wide%d.yaml", engine.MaxDepth-1)] = "name: n\nsteps:\n" + call
	open := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}
	for _, tt := range []struct{ step, want string }{
		{"use: ./leaf.yaml, with: {n: 3}", ""},
		{`use: ./leaf.yaml, with: {n: "${{ run.id }}"}`, ""}, // known when it runs
		{"use: leaf", ""}, // by name
		{"use: ./leaf.yaml", "the input `n` of d/leaf.yaml is needed"},
		{"use: ./leaf.yaml, with: {n: x}", "the input `n` of d/leaf.yaml does not fit: must be a whole number, not text"},
		{"use: ./leaf.yaml, with: {n: 1, p: 2}", "d/leaf.yaml has no input `p`"},
		{"use: ./none.yaml", "d/none.yaml cannot be read"},
		{"use: ../leaf.yaml", "leaf.yaml cannot be read"},
		{"use: ./loop1.yaml", "workflows use each other in a circle: d/w.yaml → d/loop1.yaml → d/loop2.yaml → d/loop1.yaml"},
		{"use: ./2.yaml", "more than 5 deep"},
		{"use: ./3.yaml", ""},
		{"use: ./4.yaml", ""},
		{"use: ./wide0.yaml", ""},
	} {
		w, ps := Parse("d/w.yaml", []byte("name: n\nsteps:\n- {id: s, "+tt.step+"}\n"))
		if ps != nil {
			t.Fatal(ps)
		}
		ps = w.CheckUses(open)
		if tt.want == "" && ps != nil || tt.want != "" && (len(ps) != 1 || !strings.Contains(ps[0].What, tt.want) || ps[0].Line != 3) {
			t.Errorf("%s: %v; want %s", tt.step, ps, tt.want)
		}
	}
}

func wide(use string) string {
	var b strings.Builder
	for i := range engine.MaxNodes {
		fmt.Fprintf(&b, "- {id: s%d, use: %s}\n", i, use)
	}
	return b.String()
}
