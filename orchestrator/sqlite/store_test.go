package sqlite

import (
	"testing"

	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	orchestratortest.TestStore(t, func(t testing.TB, place string) orchestrator.Store {
		db, err := Open(t.Context(), place, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}
