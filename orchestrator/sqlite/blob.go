package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// hash names a blob by its content.
type hash [sha256.Size]byte

// blobs keeps large bodies in files named by their content: ab/cdef…. A blob that a queued batch names is held, so that
// an erase does not take it away before the batch is committed.
type blobs struct {
	dir  string
	mu   sync.Mutex
	held map[hash]int
}

func openBlobs(dir string) (*blobs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &blobs{dir: dir, held: map[hash]int{}}, nil
}

func (b *blobs) path(h hash) string {
	s := hex.EncodeToString(h[:])
	return filepath.Join(b.dir, s[:2], s[2:])
}

// put stores body, on disk when it returns, and holds it until release.
func (b *blobs) put(body []byte) (h hash, err error) {
	h = sha256.Sum256(body)
	b.mu.Lock()
	b.held[h]++
	b.mu.Unlock()
	if err = b.store(h, body); err != nil {
		b.release(h)
	}
	return h, err
}

func (b *blobs) store(h hash, body []byte) error {
	path := b.path(h)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(body)) {
		return nil
	}
	dir := filepath.Dir(path)
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := syncDir(b.dir); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	f, err := os.CreateTemp(b.dir, "part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func (b *blobs) release(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[h]--; b.held[h] == 0 {
		delete(b.held, h)
	}
}

// get reads a blob and checks that it is what it was.
func (b *blobs) get(h hash) ([]byte, error) {
	body, err := os.ReadFile(b.path(h))
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(body) != h {
		return nil, fmt.Errorf("%s is damaged", b.path(h))
	}
	return body, nil
}

// remove deletes a blob that no row names, unless a queued batch holds it.
func (b *blobs) remove(h hash) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[h] > 0 {
		return nil
	}
	if err := os.Remove(b.path(h)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// orphanAge is how old a file must be before sweep takes it for one that a crash left behind.
const orphanAge = time.Hour

// sweep deletes the files that a crash between their writing and their commit left behind.
func (b *blobs) sweep(now time.Time, named func(hash) (bool, error)) error {
	return filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && now.Sub(info.ModTime()) < orphanAge {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(b.dir, path)
		raw, err := hex.DecodeString(filepath.Dir(rel) + filepath.Base(rel))
		if err != nil || len(raw) != sha256.Size {
			return os.Remove(path) // an unfinished part
		}
		h := hash(raw)
		if ok, err := named(h); ok || err != nil {
			return err
		}
		return b.remove(h)
	})
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
