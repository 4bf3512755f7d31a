package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/orchestrator"
)

// A text that was streamed is printed as the one part that it is; nothing else is joined, and what was read stays as it is.
func TestStreamedTextIsOnePart(t *testing.T) {
	text := func(size int64) orchestrator.PartInfo {
		return orchestrator.PartInfo{Kind: "text", MediaType: "text/markdown", Size: size}
	}
	data, named, plain := orchestrator.PartInfo{Kind: "data", Size: 5}, text(7), text(9)
	named.Filename, plain.MediaType = "notes.md", ""
	for name, c := range map[string]struct{ in, want []orchestrator.PartInfo }{
		"none":          {nil, nil},
		"one":           {[]orchestrator.PartInfo{text(1)}, []orchestrator.PartInfo{text(1)}},
		"two":           {[]orchestrator.PartInfo{text(1), text(2)}, []orchestrator.PartInfo{text(3)}},
		"data between":  {[]orchestrator.PartInfo{text(1), text(2), data, text(3), text(4)}, []orchestrator.PartInfo{text(3), data, text(7)}},
		"a named text":  {[]orchestrator.PartInfo{text(1), named, text(2)}, []orchestrator.PartInfo{text(1), named, text(2)}},
		"another type":  {[]orchestrator.PartInfo{text(1), plain, plain}, []orchestrator.PartInfo{text(1), {Kind: "text", Size: 18}}},
		"data and data": {[]orchestrator.PartInfo{data, data}, []orchestrator.PartInfo{data, data}},
	} {
		steps := func(parts []orchestrator.PartInfo) []orchestrator.PlanNode {
			return []orchestrator.PlanNode{{ID: "a", Calls: []orchestrator.PlanCall{{RunID: "r", Artifacts: []orchestrator.ArtifactData{{ArtifactID: "x", Parts: parts}}}}}, {ID: "b"}}
		}
		in := steps(append([]orchestrator.PartInfo(nil), c.in...))
		if d := cmp.Diff(steps(c.want), whole(in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(steps(append([]orchestrator.PartInfo(nil), c.in...)), in); d != "" {
			t.Errorf("%s: what was read is another:\n%s", name, d)
		}
	}
}
