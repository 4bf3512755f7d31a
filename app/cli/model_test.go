package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/orchestrator/planner/modeltest"
)

// endpoint starts the endpoint of a model in this process, another than that of the program, and sets MODEL to its URL and
// KEY to the key that it wants. It answers what the script asks for, in that order.
func endpoint(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("usage: endpoint")
		}
		ready := modeltest.Delegate("", [2]string{"echo", "Say hello."})
		both := modeltest.Delegate("Two agents are asked at once.", [2]string{"slow", "#slow 2s"}, [2]string{"echo", "Hello from the plan"})
		e := modeltest.New(t,
			modeltest.Status(http.StatusNotFound, `{"error":{"message":"model \"tiny\" not found, try pulling it first"}}`),
			ready, ready, both,
			func(w http.ResponseWriter, r *modeltest.Request) {
				for _, want := range []string{"r1-1, agent \"slow\": done.", "r1-2, agent \"echo\": done.", "| Hello from the plan"} {
					if !strings.Contains(r.Last(), want) {
						t.Errorf("the results do not hold %q: %s", want, r.Last())
					}
				}
				modeltest.Finish("Both are done.")(w, r)
			})
		const key = "sk-of-the-script"
		e.Key(key)
		ts.Setenv("MODEL", e.URL)
		ts.Setenv("KEY", key)
	}
}
