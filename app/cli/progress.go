package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/orchestrator"
)

// progress shows where the steps of a plan stand: on a terminal one line a step that is drawn anew, elsewhere a line
// whenever a step's state changed.
type progress struct {
	out    io.Writer
	width  int // of the terminal; 0 = it is none
	plan   *orchestrator.Plan
	states map[string]string
	drawn  int  // lines that stand there to be drawn over
	paused bool // somebody is being asked
	ticker *time.Ticker
}

// maxDrawn is how many steps are drawn over; of more than that only the changes are told.
const maxDrawn = 40

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, states: map[string]string{}}
	if terminal(out) && os.Getenv("TERM") != "dumb" {
		p.width = 80
		if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 20 {
			p.width = n
		}
		p.ticker = time.NewTicker(time.Second)
	}
	return p
}

// tick comes when the lines must be drawn anew because time has passed.
func (p *progress) tick() <-chan time.Time {
	if p.ticker == nil {
		return nil
	}
	return p.ticker.C
}

func (p *progress) live() bool { return p.width > 0 && p.plan != nil && len(p.plan.Nodes) <= maxDrawn }

func (p *progress) show(plan *orchestrator.Plan) {
	p.plan = plan
	if p.live() {
		p.draw()
		return
	}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if n.State != p.states[n.ID] && n.State != "waiting" && n.State != "ready" {
			said := slices.DeleteFunc(stepFields(n, time.Now()), func(f string) bool { return f == "" })
			fmt.Fprintln(p.out, strings.Join(said, "  "))
		}
		p.states[n.ID] = n.State
	}
}

// draw draws the lines over those that stand there.
func (p *progress) draw() {
	if !p.live() || p.paused {
		return
	}
	out := p.out
	var b strings.Builder
	if s, ok := out.(*screen); ok { // which obeys us alone
		out = s.to
	}
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, line := range planLines(p.plan, time.Now()) {
		if utf8.RuneCountInString(line) > p.width-1 {
			line = string([]rune(line)[:p.width-2]) + "…"
		}
		b.WriteString("\r\x1b[2K" + strings.Map(shown, line) + "\n")
	}
	p.drawn = len(p.plan.Nodes)
	_, _ = io.WriteString(out, b.String())
}

// pause leaves what is drawn, so that something can be written below it; resume begins anew there.
func (p *progress) pause()  { p.paused, p.drawn = true, 0 }
func (p *progress) resume() { p.paused = false }

// end ends the line of a prompt that nobody answers.
func (p *progress) end() {
	if p.paused {
		fmt.Fprintln(p.out)
	}
	p.resume()
}

// close draws the last of it.
func (p *progress) close() {
	if p.ticker != nil {
		p.ticker.Stop()
		p.ticker = nil
		p.resume()
		p.draw()
		p.drawn = 0
	}
}

var stepMarks = map[string]string{
	"waiting": "·", "ready": "·", "approving": "?", "running": "▸", "done": "✓", "failed": "✗", "skipped": "–", "canceled": "■",
}

// planLines are the steps of a plan as a table.
func planLines(plan *orchestrator.Plan, now time.Time) []string {
	rows := make([][]string, len(plan.Nodes))
	var widths []int
	for i := range plan.Nodes {
		rows[i] = stepFields(&plan.Nodes[i], now)
		for k, f := range rows[i] {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(f))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		b.WriteString(stepMarks[plan.Nodes[i].State] + " ")
		for k, f := range row {
			b.WriteString(f + strings.Repeat(" ", widths[k]-utf8.RuneCountInString(f)+2))
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// stepFields says of a step what it is called, who does it, how it stands, and how long it took or takes.
func stepFields(n *orchestrator.PlanNode, now time.Time) []string {
	who := n.AgentID
	switch {
	case n.Use != "":
		who = "use " + n.Use
	case who == "" && len(n.Calls) > 0:
		who = n.Calls[len(n.Calls)-1].AgentID
	case who == "" && n.Kind == "ask":
		who = "you"
	}
	name, state, took := n.ID, n.State, ""
	if n.Title != "" {
		name += " (" + n.Title + ")"
	}
	switch {
	case n.Kind == "ask" && state == "approving":
		state = "asking"
	case n.AskID != "" && state == "running":
		state += ", asks"
	}
	if !n.Began.IsZero() {
		end := n.Ended
		if end.IsZero() {
			end = now
		}
		took = elapsed(end.Sub(n.Began))
	}
	var more []string
	attempt, items := 0, map[int]bool{}
	for _, c := range n.Calls {
		if c.Item >= 0 {
			attempt, items[c.Item] = max(attempt, c.Attempt), true
		}
	}
	if attempt > 1 {
		more = append(more, fmt.Sprintf("attempt %d", attempt))
	}
	if n.Round > 1 {
		more = append(more, fmt.Sprintf("round %d", n.Round))
	}
	if len(items) > 1 {
		more = append(more, fmt.Sprintf("%d calls", len(items)))
	}
	if n.Fault != nil {
		more = append(more, n.Fault.What)
	}
	fields := []string{name, who, state, took, strings.Join(more, ", ")}
	for len(fields) > 0 && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	return fields
}

// elapsed is a time for people.
func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
