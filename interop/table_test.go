//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/interop/peer"
)

// tables are the tables of docs/interop.md, in order, with their titles.
var tables = [][2]string{
	{"direct", "Their clients, our agent"},
	{"gateway", "Their clients, our agent through the gateway `/agents/{id}`"},
	{"own", "Their clients, Parley's own agent"},
	{"ours", "Our client, their agents"},
	{"peers", "Their clients, their own agents"},
}

// A cell is one place in a table.
type cell struct {
	table, sdk, binding, check string
}

// results are the outcomes of all checks.
var results = &table{cells: map[cell]string{}}

type table struct {
	mu    sync.Mutex
	cells map[cell]string
}

// note keeps the outcome of a check, and fails the test where it is our fault.
func note(t *testing.T, c cell, err error) {
	t.Helper()
	n := defectOf(c)
	var outcome string
	switch {
	case c.table == "peers" && shaky(c):
		outcome = "sometimes"
	case errors.Is(err, peer.ErrNone):
		outcome = "–"
	case err == nil && n > 0 && !defects[n-1].sometimes:
		t.Errorf("passed; defect %d is no longer true: %s", n, defects[n-1].evidence)
		outcome = "yes"
	case n > 0:
		outcome = fmt.Sprintf("[%d](#defects)", n)
		t.Logf("a defect of the peer: %s: %v", defects[n-1].evidence, err)
	case err == nil:
		outcome = "yes"
	case c.table == "peers":
		outcome = "no"
		t.Log(err)
	default:
		outcome = "**no**"
		t.Error(err)
	}
	if c.table == "" {
		return
	}
	results.mu.Lock()
	defer results.mu.Unlock()
	results.cells[c] = outcome
}

const mark = "<!-- results -->\n"

// compare compares the file, from the mark on, with the results, or writes them there. It prints the tables.
func (r *table) compare(path string, update bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, had, ok := strings.Cut(string(old), mark)
	if !ok {
		return fmt.Errorf("%s has no line %q", path, strings.TrimSpace(mark))
	}
	now := r.render()
	fmt.Print(now)
	if update {
		return os.WriteFile(path, []byte(head+mark+now), 0o644)
	}
	if had != now {
		return fmt.Errorf("%s is not what was measured: %s\nmake interop ARGS=-update writes it", path, difference(had, now))
	}
	return nil
}

func difference(had, now string) string {
	a, b := strings.Split(had, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("\n- %s\n+ %s", a[i], b[i])
		}
	}
	return "one of them is longer"
}

// render writes a table per dialect, with a column per SDK and binding.
func (r *table) render() string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n", t[1])
		for _, family := range families {
			var columns []pairing
			for _, p := range pairings() {
				rpc := p.binding == peer.JSONRPC
				if slices.Contains(family.versions, p.version) && (len(family.versions) == 1 || rpc == strings.HasSuffix(family.title, "JSON-RPC")) {
					columns = append(columns, p)
				}
			}
			r.renderOne(&b, t[0], family.title, columns)
		}
	}
	var across []pairing
	for _, c := range crossings() {
		across = append(across, pairing{sdk: &sdk{name: c.client.String() + " → " + c.agent.String()}})
	}
	b.WriteString("\n## From one generation to another, through the gateway\n")
	r.renderOne(&b, "across", "client → agent", across)
	b.WriteString("\n## Defects\n\n")
	for i, d := range defects {
		fmt.Fprintf(&b, "%d. %s%s as %s: %s. %s\n", i+1, d.sdk, strings.TrimRight(" "+strings.ReplaceAll(d.bindings, " ", ", "), " "), d.role, strings.Join(d.checks, "; "), d.evidence)
	}
	return b.String()
}

// families are the dialects that share a table.
var families = []struct {
	title    string
	versions []string
}{
	{"v0.1", []string{"0.1"}},
	{"v0.2 and v0.3, JSON-RPC", []string{"0.2", "0.3"}},
	{"v0.2 and v0.3, HTTP+JSON and gRPC", []string{"0.2", "0.3"}},
	{"v1.0", []string{"1.0"}},
}

func (r *table) renderOne(b *strings.Builder, name, title string, columns []pairing) {
	var rows []string
	for _, c := range rowOrder() {
		if slices.ContainsFunc(columns, func(p pairing) bool { return r.cells[cell{name, p.name, p.binding, c}] != "" }) {
			rows = append(rows, c)
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| |", title)
	for _, p := range columns {
		fmt.Fprintf(b, " %s |", strings.TrimSuffix(p.name+"<br>"+p.binding, "<br>"))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", row)
		for _, p := range columns {
			outcome := r.cells[cell{name, p.name, p.binding, row}]
			if outcome == "" {
				outcome = "–"
			}
			fmt.Fprintf(b, " %s |", outcome)
		}
		b.WriteByte('\n')
	}
}

// rowOrder is the order in which checks are written.
func rowOrder() []string {
	rows := []string{"connect"}
	full := &round{script: obey, refused: func(context.Context) error { return nil }, others: &others{ours: true}}
	for _, c := range checks(full) {
		rows = append(rows, c.name)
	}
	rows = append(rows, parleyChecks...)
	return rows
}
