package orchestrator_test

import (
	"strings"
	"testing"

	"parley/orchestrator"
)

func TestReadTrace(t *testing.T) {
	t.Parallel()
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for in, want := range map[string]orchestrator.Trace{
		"00-" + id + "-" + parent + "-01":                      id + "-01",
		"00-" + id + "-" + parent + "-00":                      id + "-00",
		"01-" + id + "-" + parent + "-01-more":                 id + "-01",
		"00-" + id + "-" + parent + "-01-more":                 "",
		"ff-" + id + "-" + parent + "-01":                      "",
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":     "",
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":     "",
		"00-" + id + "-" + parent + "-0":                       "",
		"":                                                     "",
		"00_" + id + "-" + parent + "-01":                      "",
	} {
		if got := orchestrator.ReadTrace(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	run := orchestrator.TraceOfRun("0199e3a4-7a10-7c3c-8a53-2d9a33b1f00d")
	if run != "0199e3a47a107c3c8a532d9a33b1f00d-01" {
		t.Errorf("%q", run)
	}
	one, two := run.Parent(), run.Parent()
	if one == two || orchestrator.ReadTrace(one) != run || orchestrator.ReadTrace(two) != run {
		t.Errorf("%q, %q", one, two)
	}
	if other := orchestrator.TraceOfRun("step-1"); orchestrator.ReadTrace(other.Parent()) != other {
		t.Errorf("%q", other)
	}
	if orchestrator.Trace("").Parent() != "" {
		t.Error("no trace has a parent")
	}
}
