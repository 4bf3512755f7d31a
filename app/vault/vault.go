// Package vault keeps credentials: what a person entrusted to the program so that it may speak to an agent.
//
//	Put ── age-encrypted file ── one key ── the system's keychain, or a passphrase
//
// What it guarantees:
//
//   - A secret is never written to the disk in plain text. Where there is neither a keychain nor a passphrase, secrets
//     are kept in memory until the program ends, and Kind says so.
//   - The file is replaced as a whole: it holds all secrets of before a Put or all of after it, whatever happens.
//   - A vault that cannot be opened (locked keychain, wrong passphrase, damaged file) is left as it is, and an error says
//     why. Nothing is started anew over it.
//   - A Secret does not print itself, in a log, an error, JSON, or a dump of the struct around it.
package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/gofrs/flock"
)

// Kind says where the key to the secrets is.
type Kind string

const (
	Keychain   Kind = "keychain"
	Passphrase Kind = "passphrase"
	Memory     Kind = "memory"
)

// String says it to a person.
func (k Kind) String() string {
	switch k {
	case Keychain:
		return "Credentials are kept encrypted on this computer; the key is in the system's keychain."
	case Passphrase:
		return "Credentials are kept encrypted on this computer; the key is locked by your passphrase."
	default:
		return "Credentials are kept in memory only, until Parley ends: this system has no keychain, and no passphrase was given."
	}
}

// Options of Open.
type Options struct {
	// Passphrase locks the key where it is not in a keychain. A new vault is locked by it when it is given; a vault that
	// is locked by one cannot be opened without it.
	Passphrase Secret

	// Shared says that other processes use the directory, too: on one file system that all of them see. A change is made
	// to what is in the file then, one process after the other, and Refresh reads what others changed.
	Shared bool

	Keyring Keyring      // nil is the system's keychain
	Logger  *slog.Logger // nil discards; it is told where the key is

	work int // of scrypt, as a power of two; 0 is age's default
}

// Entry names a secret.
type Entry struct {
	Agent  string `json:"agent"`
	Origin string `json:"origin"`
}

// Vault keeps secrets, one for each agent and origin. It is safe for concurrent use.
type Vault struct {
	kind Kind
	path string              // of the file; "" for memory
	key  *age.X25519Identity // nil for memory

	mu      sync.Mutex
	secrets map[Entry]Secret
	lock    *flock.Flock // nil unless the directory is shared
	seen    fs.FileInfo  // the file as it was read or written last, when it is shared
}

// The files of a vault in its directory: the secrets, and the key when a passphrase locks it.
const (
	secretsFile = "vault.age"
	keyFile     = "vault.key"
	lockFile    = "vault.lock" // of a shared vault: held while it is changed
)

// maxSecret is the largest secret that is kept, in bytes.
const maxSecret = 64 << 10

// Open opens the vault in dir, or makes one. An error is an *Error.
func Open(ctx context.Context, dir string, o *Options) (*Vault, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Keyring == nil {
		opts.Keyring = systemKeyring{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	v := &Vault{path: filepath.Join(dir, secretsFile)}
	var err error
	if opts.Shared {
		if opts.Passphrase.Reveal() == "" {
			return nil, &Error{Kind: Locked, Message: "Credentials that several processes share are locked with a passphrase. Give it."}
		}
		v.lock = flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
		if err := v.lock.Lock(); err != nil { // so that one process makes the key, and the others find it
			return nil, &Error{Kind: Damaged, Message: "The directory of the shared credentials cannot be used.", Err: err}
		}
		defer v.lock.Unlock()
	}
	if v.kind, v.key, err = openKey(ctx, dir, &opts); err != nil {
		return nil, err
	}
	if v.kind == Memory {
		v = InMemory()
	} else if v.secrets, err = v.read(); err != nil {
		return nil, err
	}
	if v.lock != nil {
		v.seen, _ = os.Stat(v.path)
	}
	opts.Logger.InfoContext(ctx, v.kind.String())
	return v, nil
}

// InMemory returns a vault that forgets everything when the program ends. A program may go on with it when Open failed.
func InMemory() *Vault { return &Vault{kind: Memory, secrets: map[Entry]Secret{}} }

// Kind says where the key is.
func (v *Vault) Kind() Kind { return v.kind }

// Get returns the secret of an agent for an origin; an *Error of kind NotFound without one.
func (v *Vault) Get(_ context.Context, agent, origin string) (Secret, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.secrets[Entry{agent, origin}]
	if !ok {
		return Secret{}, notFound(agent, origin)
	}
	return s, nil
}

// Put keeps a secret, in place of the one before. When it returns nil the secret is on the disk.
func (v *Vault) Put(_ context.Context, agent, origin string, s Secret) error {
	if len(s.Reveal()) > maxSecret {
		return &Error{Kind: TooLarge, Message: fmt.Sprintf("This credential is larger than %d bytes.", maxSecret)}
	}
	return v.change(func(all map[Entry]Secret) error {
		all[Entry{agent, origin}] = s
		return nil
	})
}

// Delete forgets the secret of an agent for an origin; an *Error of kind NotFound without one.
func (v *Vault) Delete(_ context.Context, agent, origin string) error {
	return v.change(func(all map[Entry]Secret) error {
		if _, ok := all[Entry{agent, origin}]; !ok {
			return notFound(agent, origin)
		}
		delete(all, Entry{agent, origin})
		return nil
	})
}

// Forget forgets every secret of an agent, or, with an error, none.
func (v *Vault) Forget(_ context.Context, agent string) error {
	return v.change(func(all map[Entry]Secret) error {
		maps.DeleteFunc(all, func(e Entry, _ Secret) bool { return e.Agent == agent })
		return nil
	})
}

// List names the secrets there are, by agent and origin.
func (v *Vault) List(_ context.Context) []Entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return sorted(v.secrets)
}

// change applies f to a copy, writes the copy, and only then lets it count.
func (v *Vault) change(f func(map[Entry]Secret) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lock != nil {
		if err := v.lock.Lock(); err != nil {
			return &Error{Kind: NotStored, Message: "The credentials cannot be locked for a change. What was stored before is unharmed.", Err: err}
		}
		defer v.lock.Unlock()
		now, err := v.read()
		if err != nil {
			return err
		}
		v.secrets = now
	}
	next := make(map[Entry]Secret, len(v.secrets)+1)
	for e, s := range v.secrets {
		next[e] = s
	}
	if err := f(next); err != nil {
		return err
	}
	if v.kind != Memory {
		if err := v.write(next); err != nil {
			return &Error{Kind: NotStored, Message: "The credential could not be stored. What was stored before is unharmed.", Err: err}
		}
	}
	v.secrets = next
	if v.lock != nil {
		v.seen, _ = os.Stat(v.path)
	}
	return nil
}

// Refresh reads what other processes changed in a shared vault, and reports whether they did. It costs nothing worth
// mentioning when they did not.
func (v *Vault) Refresh() (changed bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lock == nil {
		return false, nil
	}
	now, err := os.Stat(v.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &Error{Kind: Damaged, Message: "The file with the credentials cannot be read. It is left as it is.", Err: err}
	case v.seen != nil && os.SameFile(now, v.seen) && now.ModTime().Equal(v.seen.ModTime()):
		return false, nil
	}
	secrets, err := v.read()
	if err != nil {
		return false, err
	}
	v.secrets, v.seen = secrets, now
	return true, nil
}

// stored is what the file holds, inside the encryption.
type stored struct {
	Version int            `json:"version"`
	Secrets []storedSecret `json:"secrets"`
}

type storedSecret struct {
	Entry
	Secret []byte `json:"secret"` // bytes, so that any string comes back as it was
}

const version = 1

func (v *Vault) write(secrets map[Entry]Secret) error {
	all := stored{Version: version}
	for _, e := range sorted(secrets) {
		all.Secrets = append(all.Secrets, storedSecret{e, []byte(secrets[e].Reveal())})
	}
	plain, err := json.Marshal(all)
	if err != nil {
		return err
	}
	sealed, err := seal(plain, v.key.Recipient())
	if err != nil {
		return err
	}
	return replaceFile(v.path, sealed)
}

// read returns what the file holds.
func (v *Vault) read() (map[Entry]Secret, error) {
	secrets := map[Entry]Secret{}
	sealed, err := os.ReadFile(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		return secrets, nil
	}
	if err != nil {
		return nil, &Error{Kind: Damaged, Message: "The file with the credentials cannot be read. It is left as it is.", Err: err}
	}
	if err := os.Chmod(v.path, 0o600); err != nil {
		return nil, &Error{Kind: Damaged, Message: "The file with the credentials cannot be made private. It is left as it is.", Err: err}
	}
	plain, err := open(sealed, v.key)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, &Error{Kind: Locked, Message: "The credentials were locked with another key than the one that is here. They are left as they are.", Err: err}
	}
	var all stored
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	if err == nil && all.Version != version {
		err = fmt.Errorf("version %d of the file is not known", all.Version)
	}
	if err != nil {
		return nil, &Error{Kind: Damaged, Message: "The file with the credentials is damaged. It is left as it is; restore it from a backup, or move it away and enter them again.", Err: err}
	}
	for _, s := range all.Secrets {
		secrets[s.Entry] = NewSecret(string(s.Secret))
	}
	return secrets, nil
}

func sorted(secrets map[Entry]Secret) []Entry {
	all := make([]Entry, 0, len(secrets))
	for e := range secrets {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		if c := strings.Compare(a.Agent, b.Agent); c != 0 {
			return c
		}
		return strings.Compare(a.Origin, b.Origin)
	})
	return all
}

func seal(plain []byte, to age.Recipient) ([]byte, error) {
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return sealed.Bytes(), nil
}

func open(sealed []byte, with age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), with)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
