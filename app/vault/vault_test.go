package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"
)

// fakeKeyring is a keychain of one test, so that tests can run beside one another.
type fakeKeyring struct {
	mu   sync.Mutex
	keys map[string]string
	err  error
}

func (k *fakeKeyring) Get(service, user string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return "", k.err
	}
	key, ok := k.keys[service+"/"+user]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return key, nil
}

func (k *fakeKeyring) Set(service, user, password string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	if k.keys == nil {
		k.keys = map[string]string{}
	}
	k.keys[service+"/"+user] = password
	return nil
}

var errNoKeychain = errors.New("no keychain here")

func withKeychain() *Options { return &Options{Keyring: &fakeKeyring{}} }

func withPassphrase(p string) *Options {
	return &Options{Keyring: &fakeKeyring{err: errNoKeychain}, Passphrase: NewSecret(p), work: 4}
}

func mustOpen(t *testing.T, dir string, o *Options) *Vault {
	t.Helper()
	v, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return v
}

func kindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

const (
	agent  = "travel"
	origin = "https://travel.example:8443"
)

func TestSecretsSurvive(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*Options{"keychain": withKeychain(), "passphrase": withPassphrase("correct horse")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			v := mustOpen(t, dir, o)
			// What is 4,000 bytes long, and what is no text, comes back as it was.
			long := strings.Repeat("k", 4000)
			odd := "\x00\xff\n\u2028ключ"
			for e, s := range map[Entry]string{{agent, origin}: long, {agent, "http://127.0.0.1:9"}: odd, {"other", origin}: "mine"} {
				if err := v.Put(t.Context(), e.Agent, e.Origin, NewSecret(s)); err != nil {
					t.Fatal(err)
				}
			}
			if err := v.Delete(t.Context(), "other", origin); err != nil {
				t.Fatal(err)
			}
			v = mustOpen(t, dir, o)
			if string(v.Kind()) != name {
				t.Errorf("kind %q, want %q", string(v.Kind()), name)
			}
			for origin, want := range map[string]string{origin: long, "http://127.0.0.1:9": odd} {
				if got, err := v.Get(t.Context(), agent, origin); err != nil || got.Reveal() != want {
					t.Errorf("%s: %d bytes, %v; want %d", origin, len(got.Reveal()), err, len(want))
				}
			}
			if _, err := v.Get(t.Context(), "other", origin); kindOf(err) != NotFound {
				t.Errorf("a deleted secret: %v", err)
			}
			if diff := cmp.Diff([]Entry{{agent, "http://127.0.0.1:9"}, {agent, origin}}, v.List(t.Context())); diff != "" {
				t.Errorf("List (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNeverAnotherAgentOrOrigin(t *testing.T) {
	t.Parallel()
	v := InMemory()
	if err := v.Put(t.Context(), agent, origin, NewSecret("s")); err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{{"Travel", origin}, {agent, origin + "/"}, {agent, "https://travel.example"}, {"", origin}, {agent, ""}, {agent + origin, ""}} {
		if _, err := v.Get(t.Context(), e.Agent, e.Origin); kindOf(err) != NotFound {
			t.Errorf("%v: %v", e, err)
		}
	}
}

func TestSizeLimit(t *testing.T) {
	t.Parallel()
	v := mustOpen(t, t.TempDir(), withKeychain())
	for n, want := range map[int]ErrorKind{maxSecret - 1: "", maxSecret: "", maxSecret + 1: TooLarge} {
		if err := v.Put(t.Context(), agent, origin, NewSecret(strings.Repeat("x", n))); kindOf(err) != want {
			t.Errorf("%d bytes: %v, want %q", n, err, want)
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	o := withPassphrase("p")
	v := mustOpen(t, dir, o)
	if err := v.Put(t.Context(), agent, origin, NewSecret("s")); err != nil {
		t.Fatal(err)
	}
	// A file that somebody made readable is made private again.
	if err := os.Chmod(filepath.Join(dir, secretsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir, o)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, secretsFile): 0o600, filepath.Join(dir, keyFile): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.age.*")); len(left) > 0 {
		t.Errorf("files left behind: %v", left)
	}
}

// TestLockedLosesNothing opens a vault in each way it cannot be opened, and then in the right one.
func TestLockedLosesNothing(t *testing.T) {
	t.Parallel()
	keychain := withKeychain()
	tests := []struct {
		name  string
		good  *Options
		bad   *Options
		spoil func(t *testing.T, dir string) (restore func())
		want  ErrorKind
	}{
		{name: "wrong passphrase", good: withPassphrase("right"), bad: withPassphrase("wrong"), want: WrongPassphrase},
		{name: "passphrase missing", good: withPassphrase("right"), bad: withPassphrase(""), want: Locked},
		{name: "keychain locked", good: keychain, bad: &Options{Keyring: &fakeKeyring{err: errNoKeychain}}, want: Locked},
		{name: "keychain locked, passphrase given", good: keychain, bad: withPassphrase("p"), want: Locked},
		{name: "keychain without the key", good: keychain, bad: withKeychain(), want: Locked},
		{name: "another key", good: keychain, bad: keychainOfAnother(t), want: Locked},
		{name: "secrets damaged", good: keychain, bad: keychain, spoil: flip(secretsFile), want: Damaged},
		{name: "secrets empty", good: keychain, bad: keychain, spoil: empty(secretsFile), want: Damaged},
		{name: "key damaged", good: withPassphrase("p"), bad: withPassphrase("p"), spoil: empty(keyFile), want: Damaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := mustOpen(t, dir, tt.good).Put(t.Context(), agent, origin, NewSecret("treasure")); err != nil {
				t.Fatal(err)
			}
			restore := func() {}
			if tt.spoil != nil {
				restore = tt.spoil(t, dir)
			}
			before := contents(t, dir)
			_, err := Open(t.Context(), dir, tt.bad)
			if kindOf(err) != tt.want {
				t.Errorf("Open: %v (%s), want %s", err, kindOf(err), tt.want)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("files were changed:\n%s", diff)
			}
			restore()
			if got, err := mustOpen(t, dir, tt.good).Get(t.Context(), agent, origin); err != nil || got.Reveal() != "treasure" {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func keychainOfAnother(t *testing.T) *Options {
	o := withKeychain()
	mustOpen(t, t.TempDir(), o)
	return o
}

func flip(file string) func(*testing.T, string) func() {
	return func(t *testing.T, dir string) func() {
		return rewrite(t, filepath.Join(dir, file), func(b []byte) []byte {
			b[len(b)-1] ^= 1
			return b
		})
	}
}

func empty(file string) func(*testing.T, string) func() {
	return func(t *testing.T, dir string) func() {
		return rewrite(t, filepath.Join(dir, file), func([]byte) []byte { return nil })
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) (restore func()) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(bytes.Clone(data)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// TestFailedPutLosesNothing takes the folder away under the vault.
func TestFailedPutLosesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	v := mustOpen(t, dir, withKeychain())
	if err := v.Put(t.Context(), agent, origin, NewSecret("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.Put(t.Context(), agent, origin, NewSecret("new")); kindOf(err) != NotStored {
		t.Errorf("Put: %v", err)
	}
	if got, err := v.Get(t.Context(), agent, origin); err != nil || got.Reveal() != "old" {
		t.Errorf("Get after a failed Put: %v; it must not show what was not stored", err)
	}
}

func TestWithoutKeychainOrPassphrase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := mustOpen(t, dir, &Options{Keyring: &fakeKeyring{err: errNoKeychain}})
	if v.Kind() != Memory || !strings.Contains(v.Kind().String(), "memory only") {
		t.Errorf("kind %q: %v", string(v.Kind()), v.Kind())
	}
	if err := v.Put(t.Context(), agent, origin, NewSecret("s")); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Get(t.Context(), agent, origin); err != nil || got.Reveal() != "s" {
		t.Errorf("Get: %v", err)
	}
	if files := contents(t, dir); len(files) != 0 {
		t.Errorf("memory only, and yet these files: %v", files)
	}
}

// TestKeychainThatDoesNotAnswer shows that a keychain waiting for a person does not hold the program for ever.
func TestKeychainThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		asked := silent(make(chan struct{}))
		defer close(asked)
		v, err := Open(t.Context(), dir, &Options{Keyring: asked})
		if err != nil || v.Kind() != Memory {
			t.Errorf("Open: %v, %v", v, err)
		}
	})
}

type silent chan struct{}

func (s silent) Get(string, string) (string, error) { <-s; return "", errNoKeychain }
func (s silent) Set(string, string, string) error   { <-s; return errNoKeychain }

// TestSystemKeychain goes through the library, with its own stand-in for a keychain.
func TestSystemKeychain(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	dir := t.TempDir()
	if err := mustOpen(t, dir, nil).Put(t.Context(), agent, origin, NewSecret("s")); err != nil {
		t.Fatal(err)
	}
	v := mustOpen(t, dir, nil)
	if got, err := v.Get(t.Context(), agent, origin); v.Kind() != Keychain || err != nil || got.Reveal() != "s" {
		t.Errorf("%s: %v", string(v.Kind()), err)
	}
	// The key is 32 bytes in age's spelling: small enough for every keychain.
	if key, err := keyring.Get(service, user); err != nil || len(key) != 74 {
		t.Errorf("the keychain holds %d bytes, %v", len(key), err)
	}
	keyring.MockInitWithError(errNoKeychain)
	if _, err := Open(t.Context(), dir, nil); kindOf(err) != Locked {
		t.Errorf("without the keychain: %v", err)
	}
}

// prints puts a value through everything that prints, alone and inside others, and returns what came out.
func prints[T any](t *testing.T, s T) string {
	t.Helper()
	type holder struct {
		Name   string
		Shown  T
		hidden T
	}
	h := holder{"h", s, s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T", "%p"} {
		for _, v := range []any{s, h, &h, []T{s}, map[string]T{"k": s}} {
			fmt.Fprintf(&out, verb, v)
		}
	}
	fmt.Fprintln(&out, fmt.Errorf("failed with %v", s), s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "secret", s, "holder", h, "all", []any{s, h})
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "secret", s, "holder", h)
	if err := json.NewEncoder(&out).Encode([]any{s, h, map[string]any{"k": s}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func holds(text, canary string) bool {
	return strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary))
}

// TestCanaries puts secrets that are easy to find into the vault and everything that prints, and looks for them.
func TestCanaries(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		canary := fmt.Sprintf("CANARY-%d-%x", i, r.Uint64())
		s := NewSecret(canary)
		if text := prints(t, s); holds(text, canary) {
			t.Errorf("a secret was printed:\n%s", text)
		}
		for name, o := range map[string]*Options{"keychain": withKeychain(), "passphrase": withPassphrase(canary)} {
			var out bytes.Buffer
			o.Logger = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			dir := t.TempDir()
			v := mustOpen(t, dir, o)
			if err := v.Put(t.Context(), agent, origin, s); err != nil {
				t.Fatal(err)
			}
			_, err := v.Get(t.Context(), agent, "elsewhere")
			fmt.Fprintf(&out, "%v %+v %#v %+v %#v %v", v, v, v, *o, *o, err)
			if holds(out.String(), canary) {
				t.Errorf("%s: a secret was printed:\n%s", name, out.String())
			}
			for file, data := range contents(t, dir) {
				if holds(data, canary) || holds(data, "travel.example") {
					t.Errorf("%s: %s holds plain text", name, file)
				}
			}
		}
	}
}

// leaky hides itself as one would at first, by String alone.
type leaky string

func (leaky) String() string { return redacted }

// TestPlantedLeak shows that TestCanaries would see it.
func TestPlantedLeak(t *testing.T) {
	t.Parallel()
	if !holds(prints(t, leaky("CANARY")), "CANARY") {
		t.Error("nothing was found")
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), withKeychain()
	v := mustOpen(t, dir, o)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a := fmt.Sprint("agent-", i)
			if err := v.Put(context.Background(), a, origin, NewSecret(a)); err != nil {
				t.Error(err)
			}
			if s, err := v.Get(context.Background(), a, origin); err != nil || s.Reveal() != a {
				t.Error(s, err)
			}
		})
	}
	wg.Wait()
	if n := len(mustOpen(t, dir, o).List(t.Context())); n != 20 {
		t.Errorf("%d secrets on the disk, want 20", n)
	}
}

// What one process keeps in a shared vault, the others have, and nobody's change undoes another's.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *Vault {
		o := withPassphrase("sesame")
		o.Shared = true
		return mustOpen(t, dir, o)
	}
	a, b := open(), open()
	put := func(v *Vault, agent, secret string) {
		t.Helper()
		if err := v.Put(t.Context(), agent, "https://x", NewSecret(secret)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(v *Vault, agent, secret string) {
		t.Helper()
		if s, err := v.Get(t.Context(), agent, "https://x"); err != nil || s.Reveal() != secret {
			t.Errorf("%s has %q, %v", agent, s.Reveal(), err)
		}
	}
	if changed, err := b.Refresh(); changed || err != nil {
		t.Errorf("nothing changed: %v, %v", changed, err)
	}
	put(a, "one", "1")
	put(b, "two", "2")
	want(b, "one", "1")
	if changed, err := a.Refresh(); !changed || err != nil {
		t.Errorf("another process changed it: %v, %v", changed, err)
	}
	want(a, "two", "2")
	if changed, err := a.Refresh(); changed || err != nil {
		t.Errorf("it is read already: %v, %v", changed, err)
	}
	if err := b.Delete(t.Context(), "one", "https://x"); err != nil {
		t.Fatal(err)
	}
	put(a, "three", "3")
	if _, err := a.Get(t.Context(), "one", "https://x"); err == nil {
		t.Error("what another process forgot came back")
	}
}
