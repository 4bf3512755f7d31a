//go:build interop

package interop

import "slices"

// A defect is something that does not work because of the SDK. It is tried all the same.
type defect struct {
	sdk     string
	binding string // "" = every one
	role    string // of the SDK: client or agent
	checks  []string
	// evidence says what the SDK does, and where it shows without Parley.
	evidence  string
	sometimes bool // it depends on timing
}

var defects = []defect{}

// defectOf returns the number of the defect that explains a cell, from 1; 0 for none.
func defectOf(c cell) int {
	role := "client"
	if c.table == "ours" {
		role = "agent"
	}
	return slices.IndexFunc(defects, func(d defect) bool {
		return d.sdk == c.sdk && (d.binding == "" || d.binding == c.binding) && d.role == role && slices.Contains(d.checks, c.check) && c.table != "peers"
	}) + 1
}
