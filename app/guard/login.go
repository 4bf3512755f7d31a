package guard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Login lets browsers in by a passphrase: those on other machines, to which nobody can give a one-time link. Only a hash
// of it is kept, in a file that the owner alone can read.
type Login struct {
	file string
	hash string        // in place of the file
	from string        // the mark of hash
	busy chan struct{} // one is computed at a time, for each takes 64 MiB
}

// The bounds of a passphrase.
const (
	MinPassphrase = 12 // characters
	MaxPassphrase = 1024
)

// loginFile keeps the hash in the data directory.
const loginFile = "login"

// OpenLogin returns the login whose hash is kept in dir; passphrase, when it is not "", takes the place of what is kept.
func OpenLogin(dir, passphrase string) (*Login, error) {
	l := &Login{file: filepath.Join(dir, loginFile), busy: make(chan struct{}, 1)}
	if passphrase == "" {
		return l, nil
	}
	if err := checkPassphrase(passphrase); err != nil {
		return nil, err
	}
	l.hash = hashPassphrase(passphrase)
	sum := sha256.Sum256([]byte(passphrase)) // only ever in memory: a salt would be another one after a restart
	l.from = string(sum[:])
	return l, nil
}

// On reports whether a passphrase lets anybody in.
func (l *Login) On() bool {
	if l == nil {
		return false
	}
	hash, err := l.kept()
	return err == nil && hash != ""
}

// Set keeps a new passphrase. Sessions that were made with the old one end.
func (l *Login) Set(passphrase string) error {
	if err := checkPassphrase(passphrase); err != nil {
		return err
	}
	temp := l.file + ".new"
	if err := os.WriteFile(temp, []byte(hashPassphrase(passphrase)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, l.file)
}

// Remove forgets the passphrase, and ends the sessions that were made with it. It is no error when there is none.
func (l *Login) Remove() error {
	if err := os.Remove(l.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l *Login) kept() (string, error) {
	if l.hash != "" {
		return l.hash, nil
	}
	b, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// mark tells the passphrase that lets in now from any other, "" when there is none.
func (l *Login) mark() string {
	if l == nil {
		return ""
	}
	if l.from != "" {
		return l.from
	}
	hash, err := l.kept()
	if err != nil {
		return ""
	}
	return hash
}

// turn waits until nobody else is checked. Meanwhile others may have been found wrong: who may still be checked is to be
// asked after it.
func (l *Login) turn(ctx context.Context) (leave func(), err error) {
	select {
	case l.busy <- struct{}{}:
		return func() { <-l.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// check reports whether the passphrase is the one. It takes its time, and is called in a turn.
func (l *Login) check(passphrase string) bool {
	hash, err := l.kept()
	if err != nil || hash == "" || len(passphrase) > MaxPassphrase {
		return false
	}
	return sameHash(hash, passphrase)
}

func checkPassphrase(p string) error {
	switch {
	case !utf8.ValidString(p):
		return errors.New("the passphrase is not text")
	case utf8.RuneCountInString(p) < MinPassphrase:
		return fmt.Errorf("the passphrase is too short: use at least %d characters", MinPassphrase)
	case len(p) > MaxPassphrase:
		return fmt.Errorf("the passphrase is too long: use at most %d bytes", MaxPassphrase)
	}
	return nil
}

// The work of a hash: the second recommendation of RFC 9106, 4.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
)

// hashPassphrase returns a salted argon2id hash in the PHC string form.
func hashPassphrase(p string) string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	sum := argon2.IDKey([]byte(p), salt, argonTime, argonMemory, argonThreads, 32)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// sameHash reports whether hash is one of p. It takes only our own parameters: a file that asks for others is not ours.
func sameHash(hash, p string) bool {
	prefix := fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonTime, argonThreads)
	rest, ok := strings.CutPrefix(hash, prefix)
	if !ok {
		return false
	}
	s, h, _ := strings.Cut(rest, "$")
	salt, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(h)
	if err != nil || len(want) != 32 {
		return false
	}
	return subtle.ConstantTimeCompare(argon2.IDKey([]byte(p), salt, argonTime, argonMemory, argonThreads, 32), want) == 1
}
