package app

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"parley/a2a"
	"parley/a2a/sign"
	"parley/a2a/wire"
	"parley/app/vault"
	"parley/orchestrator"
)

// keys is the key that we sign with: our cards, and the tokens of webhooks. It is made once, when it is first needed, and
// kept in the vault; where the vault is in memory only, in the data directory, like the key of the sessions. A key that
// is there and cannot be had now is not replaced: then one is made that ends with the program.
type keys struct {
	data  string
	vault *vault.Vault
	log   *slog.Logger

	once sync.Once
	key  *sign.Key
	jwks []byte // the public half, as it is published
	seed []byte // of what seals secrets; nil when there is none that outlives the program

	mu   sync.Mutex
	next string                                // fingerprint of the key from the next start on; "" = the same
	made map[[32]byte][]a2a.AgentCardSignature // by the hash of what was signed
}

// maxMade is how many signed cards are remembered. All are forgotten at once: signing again takes a millisecond.
const maxMade = 256

// jwksPath is where the public key is published, below our origin.
const jwksPath = "/.well-known/jwks.json"

// keyOwner has the entries of the vault. No agent can have this id.
const keyOwner = orchestrator.OwnAgent

// keyPlace is where a key is kept.
type keyPlace struct{ name, file string } // in the vault, in the data directory

var (
	signingKey = keyPlace{"signing key", "signing.key"}

	// What was sealed stays readable when the signing key is replaced: its seed is kept then, apart from it. Before that it is
	// the signing key.
	sealingKey = keyPlace{"sealing key", "sealing.key"}
)

func newKeys(data string, v *vault.Vault, log *slog.Logger) *keys {
	return &keys{data: data, vault: v, log: log}
}

// open reads the key, or makes it.
func (k *keys) open() {
	k.once.Do(func() {
		ctx := context.Background() // the vault is in memory by now, and writing it takes no other's time
		stored, err := k.read(ctx, signingKey)
		if err == nil && stored == nil {
			if k.key, err = sign.NewKey(); err == nil {
				if stored, err = k.key.Marshal(); err == nil {
					err = k.write(ctx, signingKey, stored)
				}
			}
		} else if err == nil {
			k.key, err = sign.ParseKey(stored)
		}
		if err == nil {
			if k.seed, err = k.read(ctx, sealingKey); err == nil && k.seed == nil {
				k.seed = stored
			}
		}
		if err != nil {
			k.log.Warn("the signing key cannot be kept: cards are signed by another until the program ends", "err", err)
			if k.key == nil {
				if k.key, err = sign.NewKey(); err != nil {
					return
				}
			}
		}
		if k.jwks, err = k.key.JWKS(); err != nil {
			k.log.Error("the public key cannot be published", "err", err)
		}
	})
}

// read returns a key as stored; nil when there is none yet.
func (k *keys) read(ctx context.Context, at keyPlace) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(k.data, at.file))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	s, err := k.vault.Get(ctx, keyOwner, at.name)
	if e, ok := errors.AsType[*vault.Error](err); ok && e.Kind == vault.NotFound {
		if k.vault.Kind() == vault.Memory && vault.Exists(k.data) {
			return nil, errors.New("the vault it may be in is locked")
		}
		return nil, nil
	}
	return []byte(s.Reveal()), err
}

func (k *keys) write(ctx context.Context, at keyPlace, key []byte) error {
	file := filepath.Join(k.data, at.file)
	if k.vault.Kind() == vault.Memory {
		return vault.WriteFile(file, key)
	}
	if err := k.vault.Put(ctx, keyOwner, at.name, vault.NewSecret(string(key))); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // it would count first
		return err
	}
	return nil
}

// rotate makes a key that is used from the next start on, in place of the one that is kept.
func (k *keys) rotate(ctx context.Context) (fingerprint string, err error) {
	k.open()
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := sign.NewKey()
	if err != nil {
		return "", err
	}
	b, err := key.Marshal()
	if err != nil {
		return "", err
	}
	if k.seed != nil { // first, so that what was sealed by the old one is not lost with it
		if err := k.write(ctx, sealingKey, k.seed); err != nil {
			return "", err
		}
	}
	if err := k.write(ctx, signingKey, b); err != nil {
		return "", err
	}
	k.next = sign.Fingerprint(key.ID())
	return k.next, nil
}

// nextFingerprint names the key that is used from the next start on; "" when that is the same.
func (k *keys) nextFingerprint() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.next
}

// derive returns 32 bytes for one purpose, which stay the same when the signing key is replaced.
func (k *keys) derive(purpose string) ([]byte, error) {
	k.open()
	if k.seed == nil { // then nothing outlives the program
		b := make([]byte, 32)
		rand.Read(b) // never fails
		return b, nil
	}
	return hkdf.Key(sha256.New, k.seed, nil, "parley "+purpose, 32)
}

// sign puts our signatures into a card that is served below base, in place of any it has. All the forms it is written in
// later are covered. A card that says the same as one before gets the same signatures.
func (k *keys) sign(card *a2a.AgentCard, base string) {
	k.open()
	card.Signatures = nil
	if k.key == nil {
		return
	}
	text := wire.AppendCard(nil, wire.CardSuperset, card)
	sum := sha256.Sum256(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if card.Signatures = k.made[sum]; card.Signatures != nil {
		return
	}
	list, err := k.key.Sign(text, base+jwksPath[1:])
	if err != nil {
		k.log.Error("a card could not be signed", "card", card.Name, "err", err)
		return
	}
	if k.made == nil || len(k.made) >= maxMade {
		k.made = map[[32]byte][]a2a.AgentCardSignature{}
	}
	k.made[sum], card.Signatures = list, list
}

// JWT returns a token with these claims, signed by the key that our JWKS publishes; a time.Time is written in seconds.
func (k *keys) JWT(claims map[string]any) (string, error) {
	k.open()
	if k.key == nil {
		return "", errors.New("there is no key to sign with")
	}
	return k.key.JWT(claims)
}

// fingerprint names the key as people compare it; "" when there is none.
func (k *keys) fingerprint() string {
	k.open()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == nil {
		return ""
	}
	return sign.Fingerprint(k.key.ID())
}

// ServeHTTP publishes the public key.
func (k *keys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the keys are read with GET", http.StatusMethodNotAllowed)
		return
	}
	k.open()
	if k.jwks == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(k.jwks)
}
