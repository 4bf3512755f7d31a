package vault

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"filippo.io/age"
	"github.com/zalando/go-keyring"
)

// ErrNoKey is what a keychain answers that does not have a key.
var ErrNoKey = keyring.ErrNotFound

// Keyring is the part of a keychain that is used here. An error for a key that is not there is ErrNoKey.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, password string) error
}

// The one key is kept under this name. All data directories of a person share it.
const (
	service = "parley"
	user    = "vault key"
)

// keyringTime is how long a keychain may take: it may ask the person for leave.
const keyringTime = time.Minute

// openKey finds the key of the vault in dir, or makes one, and says where it is. A vault that exists is opened by the key
// it was locked with, or not at all.
func openKey(ctx context.Context, dir string, o *Options) (Kind, *age.X25519Identity, error) {
	wrapped, err := os.ReadFile(filepath.Join(dir, keyFile))
	switch {
	case err == nil:
		key, err := unlock(wrapped, o.Passphrase)
		return Passphrase, key, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", nil, &Error{Kind: Damaged, Message: "The key to the credentials cannot be read. It is left as it is.", Err: err}
	}
	_, err = os.Stat(filepath.Join(dir, secretsFile))
	exists := err == nil
	if !exists && o.Passphrase.Reveal() != "" {
		key, err := lock(dir, o)
		return Passphrase, key, err
	}
	key, err := keychainKey(ctx, o.Keyring, !exists)
	switch {
	case err == nil:
		return Keychain, key, nil
	case exists:
		return "", nil, &Error{Kind: Locked, Message: "The credentials are locked with a key in the system's keychain, which cannot be had now. They are left as they are; unlock the keychain and start again.", Err: err}
	default:
		o.Logger.DebugContext(ctx, "no keychain", "err", err)
		return Memory, nil, nil
	}
}

// unlock reads the key that a passphrase locks.
func unlock(wrapped []byte, passphrase Secret) (*age.X25519Identity, error) {
	if passphrase.Reveal() == "" {
		return nil, &Error{Kind: Locked, Message: "The credentials are locked with a passphrase. Give it to open them; they are left as they are."}
	}
	identity, err := age.NewScryptIdentity(passphrase.Reveal())
	if err != nil {
		return nil, &Error{Kind: WrongPassphrase, Message: "This passphrase cannot be used.", Err: err}
	}
	plain, err := open(wrapped, identity)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, &Error{Kind: WrongPassphrase, Message: "The passphrase is wrong. The credentials are left as they are.", Err: err}
	}
	var key *age.X25519Identity
	if err == nil {
		key, err = age.ParseX25519Identity(string(plain))
	}
	if err != nil {
		// What the parser says may repeat a part of the key.
		return nil, &Error{Kind: Damaged, Message: "The key to the credentials is damaged. It is left as it is; restore it from a backup."}
	}
	return key, nil
}

// lock makes a key and locks it with the passphrase.
func lock(dir string, o *Options) (*age.X25519Identity, error) {
	failed := func(err error) error {
		return &Error{Kind: NotStored, Message: "The key to the credentials could not be stored.", Err: err}
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, failed(err)
	}
	recipient, err := age.NewScryptRecipient(o.Passphrase.Reveal())
	if err != nil {
		return nil, failed(err)
	}
	if o.work != 0 {
		recipient.SetWorkFactor(o.work)
	}
	sealed, err := seal([]byte(key.String()), recipient)
	if err != nil {
		return nil, failed(err)
	}
	if err := replaceFile(filepath.Join(dir, keyFile), sealed); err != nil {
		return nil, failed(err)
	}
	return key, nil
}

// keychainKey returns the key in the keychain. It makes one only for a vault that is new.
func keychainKey(ctx context.Context, k Keyring, create bool) (*age.X25519Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, keyringTime)
	defer cancel()
	type answer struct {
		key *age.X25519Identity
		err error
	}
	// A keychain that asks the person cannot be interrupted; what it answers too late is dropped.
	answers := make(chan answer, 1)
	go func() {
		text, err := k.Get(service, user)
		if errors.Is(err, ErrNoKey) && create {
			text, err = newKeychainKey(k)
		}
		if err != nil {
			answers <- answer{nil, err}
			return
		}
		key, err := age.ParseX25519Identity(text)
		if err != nil {
			err = errors.New("what is in the keychain is not a key")
		}
		answers <- answer{key, err}
	}()
	select {
	case a := <-answers:
		return a.key, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newKeychainKey(k Keyring) (string, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	if err := k.Set(service, user, key.String()); err != nil {
		return "", err
	}
	return k.Get(service, user) // what is there counts, should another program have been faster
}

// systemKeyring is the keychain of the operating system.
type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) {
	if err := available(); err != nil {
		return "", err
	}
	return keyring.Get(service, user)
}

func (systemKeyring) Set(service, user, password string) error {
	if err := available(); err != nil {
		return err
	}
	return keyring.Set(service, user, password)
}

// available keeps a machine without a desktop from being given one: without a session bus, asking for it would start a
// daemon that stays.
func available() error {
	if runtime.GOOS != "linux" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	if _, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"); err != nil {
		return errors.New("there is no session bus")
	}
	return nil
}
