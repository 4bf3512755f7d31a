package app_test

import (
	"bytes"
	"strings"
	"testing"

	"parley/app"
	"parley/orchestrator"
)

// A backup takes the place of the database at the next start, a new key counts then too, and what the configuration file
// says is put in place at the start.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	u := p.Upkeep()
	p.token(app.TokenInfo{Name: "early"})
	b, err := u.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.token(app.TokenInfo{Name: "late"})
	for _, name := range []string{"../parley.db", "none.db", "saved"} {
		if err := u.Restore(t.Context(), name); err == nil {
			t.Errorf("%s was taken for a backup", name)
		}
	}
	if err := u.Restore(t.Context(), b.Name); err != nil {
		t.Fatal(err)
	}
	before, err := u.State(t.Context())
	if err != nil || !before.Restoring || before.Database == 0 || len(before.Backups) != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	next, err := u.RotateKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := u.Export(t.Context(), "json", &out); err != nil {
		t.Error(err)
	}
	p.stop()

	p = startIn(t, dir, func(c *app.Config) {
		c.Settings = map[string]string{orchestrator.RetentionDays: "30"}
		c.From = map[string]string{"history.days": "parley.yaml, line 1"}
	})
	var names []string
	for _, k := range verb[[]app.TokenInfo](p, "token.list", struct{}{}) {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "early") || strings.Contains(got, "late") {
		t.Errorf("the tokens are %s", got)
	}
	after, err := p.Upkeep().State(t.Context())
	if err != nil || after.Restoring || after.Fingerprint != next || after.Fingerprint == before.Fingerprint || len(after.Backups) != 2 {
		t.Errorf("%+v, %v", after, err)
	}
	for _, v := range after.Values {
		if v.Name == "history.days" && v.By != "parley.yaml, line 1" {
			t.Errorf("nobody says what decides: %+v", v)
		}
	}
	if days, err := p.Setting(t.Context(), orchestrator.RetentionDays); err != nil || days != "30" {
		t.Errorf("the file's days are %q, %v", days, err)
	}
}
