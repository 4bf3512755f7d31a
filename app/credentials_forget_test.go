package app

import (
	"os"
	"path/filepath"
	"testing"

	"parley/a2a"
	"parley/app/vault"
	"parley/orchestrator"
)

// Where the vault cannot forget, nothing of an agent's credentials is gone, here or there.
func TestForgetAllOrNothing(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Open(ctx, dir, &vault.Options{Passphrase: vault.NewSecret("a passphrase for this test")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCredentials(ctx, v, &tokens{})
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		cred := &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: "s"}
		if err := c.keep(ctx, "x", origin, cred); err != nil {
			t.Fatal(err)
		}
	}
	mine := orchestrator.WithOrigin(ctx, orchestrator.Origin{Principal: orchestrator.LocalPrincipal})
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // so that it cannot be made anew
		t.Fatal(err)
	}
	if c.forget(ctx, "x") == nil {
		t.Fatal("it forgot in a vault that is not there")
	}
	if all, err := c.of(mine, "x"); len(all) != 2 || len(v.List(ctx)) != 2 || err != nil {
		t.Errorf("%d of 2 are left in use, and %d in the vault: %v", len(all), len(v.List(ctx)), err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if err := c.forget(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if all, err := c.of(mine, "x"); len(all) != 0 || len(v.List(ctx)) != 0 || err != nil {
		t.Errorf("%d are left in use, and %d in the vault: %v", len(all), len(v.List(ctx)), err)
	}
	if err := c.forget(ctx, "x"); err != nil {
		t.Errorf("once more: %v", err)
	}
}
