//go:build interop

package interop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// tables are the columns that note knows, in order, with their titles.
var tables = [][2]string{
	{"demo agents", "Their clients, the demo agents"},
	{"gateway", "Their clients, the demo agents through the gateway `/agents/{id}`"},
	{"own agent", "Their clients, Parley's own agent"},
	{"our client", "Our client, their agents"},
}

// results are the outcomes of all checks; rows in the order they were first seen.
var results struct {
	sync.Mutex
	rows map[string][]string
	ok   map[[3]string]bool // table, row, peer
}

// note keeps one outcome. table "" keeps nothing.
func note(table, peer, row string, ok bool) {
	if table == "" {
		return
	}
	results.Lock()
	defer results.Unlock()
	if results.ok == nil {
		results.ok, results.rows = map[[3]string]bool{}, map[string][]string{}
	}
	if !slices.Contains(results.rows[table], row) {
		results.rows[table] = append(results.rows[table], row)
	}
	results.ok[[3]string{table, row, peer}] = ok
}

// writeTable replaces everything after the line "<!-- results -->" of a file.
func writeTable(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const mark = "<!-- results -->\n"
	head, _, ok := strings.Cut(string(old), mark)
	if !ok {
		return fmt.Errorf("%s has no line %q", path, strings.TrimSpace(mark))
	}
	var b strings.Builder
	b.WriteString(head + mark)
	for _, t := range tables {
		table, title := t[0], t[1]
		if len(results.rows[table]) == 0 {
			return fmt.Errorf("nothing was checked for %q: run all tests to write the tables", table)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| check |", title)
		for _, p := range peers() {
			fmt.Fprintf(&b, " %s |", p.name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(peers())) + "\n")
		for _, row := range results.rows[table] {
			fmt.Fprintf(&b, "| %s |", row)
			for _, p := range peers() {
				ok, ran := results.ok[[3]string{table, row, p.name}]
				fmt.Fprintf(&b, " %s |", outcome(ok, ran))
			}
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func outcome(ok, ran bool) string {
	switch {
	case !ran:
		return "–" // not in that version
	case ok:
		return "yes"
	}
	return "**no**"
}
