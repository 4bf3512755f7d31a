package frontend

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/frontend/view"
	"parley/orchestrator"
)

// The measures of a drawn plan, in the units of its view box.
const (
	graphWidth  = 425
	graphAcross = 3 // nodes side by side at most
	nodeHeight  = 39
	nodeWidest  = 168
	nodeGap     = 13
	layerGap    = 24
)

// drawGraph lays a plan out from top to bottom: a step stands below all that it needs.
func (s *Site) drawGraph(ctx context.Context, nodes []orchestrator.PlanNode, href func(id string) string) view.Graph {
	g := view.Graph{W: graphWidth}
	if len(nodes) == 0 {
		return g
	}
	depth := depths(nodes)
	var layers [][]int
	for i := range nodes {
		for len(layers) <= depth[i] {
			layers = append(layers, nil)
		}
		layers[depth[i]] = append(layers[depth[i]], i)
	}
	at := make(map[string]*view.GraphNode, len(nodes))
	g.Nodes = make([]view.GraphNode, len(nodes))
	y := 1
	var names []string
	for _, layer := range layers {
		var words []string
		for begin := 0; begin < len(layer); begin += graphAcross {
			row := layer[begin:min(begin+graphAcross, len(layer))]
			width := min(nodeWidest, (graphWidth-2-(len(row)-1)*nodeGap)/len(row))
			x := (graphWidth - len(row)*width - (len(row)-1)*nodeGap) / 2
			for _, i := range row {
				n := &nodes[i]
				v := &g.Nodes[i]
				*v = view.GraphNode{X: x, Y: y, W: width, H: nodeHeight, State: view.StepState(ctx, n), Href: href(n.ID)}
				v.Title = shorten(titled(n), (width-36)/6)
				v.Full = titled(n)
				v.Sub = shorten(s.nodeSays(ctx, n, &v.Flag), (width-36)/5)
				at[n.ID] = v
				words = append(words, titled(n))
				x += width + nodeGap
			}
			y += nodeHeight + layerGap
		}
		names = append(names, strings.Join(words, ", "))
	}
	g.H = y - layerGap + 1
	g.Label = strings.Join(names, "; ")
	for i := range nodes {
		to := at[nodes[i].ID]
		for _, need := range nodes[i].Needs {
			from := at[need]
			if from == nil {
				continue
			}
			x1, y1, x2, y2 := from.X+from.W/2, from.Y+nodeHeight, to.X+to.W/2, to.Y
			middle := (y1 + y2) / 2
			g.Edges = append(g.Edges, view.GraphEdge{
				D:    fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, middle, x2, middle, x2, y2),
				Todo: nodes[i].State == "" || nodes[i].State == "waiting",
			})
		}
	}
	return g
}

// depths says how many steps stand above each, on the longest way. What needs itself, which no plan that is carried out
// does, is taken as it comes.
func depths(nodes []orchestrator.PlanNode) []int {
	at := make(map[string]int, len(nodes))
	for i := range nodes {
		at[nodes[i].ID] = i
	}
	depth, open := make([]int, len(nodes)), make([]int8, len(nodes))
	var visit func(i int) int
	visit = func(i int) int {
		if open[i] != 0 {
			return depth[i]
		}
		open[i] = 1
		for _, need := range nodes[i].Needs {
			if j, ok := at[need]; ok && open[j] != 1 {
				depth[i] = max(depth[i], visit(j)+1)
			}
		}
		open[i] = 2
		return depth[i]
	}
	for i := range nodes {
		visit(i)
	}
	return depth
}

// titled is what a step is called.
func titled(n *orchestrator.PlanNode) string {
	if n.Title != "" {
		return n.Title
	}
	return n.ID
}

// nodeSays is the second line of a step: who does it, or what it is.
func (s *Site) nodeSays(ctx context.Context, n *orchestrator.PlanNode, f **view.Flag) string {
	agent := n.AgentID
	if len(n.Calls) > 0 && n.Calls[len(n.Calls)-1].AgentID != "" {
		agent = n.Calls[len(n.Calls)-1].AgentID
	}
	var says string
	switch {
	case agent != "":
		l := s.people.link(ctx, agent)
		*f = &l.Flag
		says = l.Name
	case n.Use != "":
		says = view.T(ctx, "Workflow %s", n.Use)
	case n.Kind == "ask":
		says = view.T(ctx, "A question to you")
	case n.Kind == "plan":
		says = view.T(ctx, "Says what comes next")
	case n.Kind == "call":
		says = view.T(ctx, "An agent that fits")
	default:
		says = view.T(ctx, "Joins")
	}
	if n.Approve {
		says = view.T(ctx, "%s, with your yes", says)
	}
	return says
}

// shorten cuts a text to n characters.
func shorten(text string, n int) string {
	if n = max(n, 4); utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
