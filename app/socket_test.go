package app_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley/app"
)

// The control socket of a data directory with a long path stands where others can write. Whoever was there first is not spoken
// with.
func TestSocketOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	temp, err := os.MkdirTemp("", "s") // short: a socket is made in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	try := func() error {
		a, err := app.Open(t.Context(), &app.Config{Data: dir})
		if err != nil {
			return err
		}
		if _, err := app.Dial(t.Context(), dir); err != nil {
			t.Errorf("nobody answers: %v", err)
		}
		return a.Close(t.Context())
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(temp, "parley-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	private := found[0]
	refused := func(what string) {
		t.Helper()
		if err := try(); err == nil || !strings.Contains(err.Error(), "private") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := app.Dial(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "private") {
			t.Errorf("%s, a command: %v", what, err)
		}
	}
	for _, mode := range []os.FileMode{0o711, 0o770, 0o777} {
		if err := os.Chmod(private, mode); err != nil {
			t.Fatal(err)
		}
		refused(mode.String())
	}
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(private, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refused("of another user")
		if err := os.Chown(private, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	moved := filepath.Join(temp, "elsewhere")
	if err := os.Rename(private, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, private); err != nil {
		t.Fatal(err)
	}
	refused("a link")
	if err := os.Remove(private); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("removed: %v", err)
	}
}
