package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrRunning says that another process has the data directory; its control socket answers.
var ErrRunning = errors.New("Parley is already running on this data directory") //nolint:staticcheck // a name

// DefaultDataDir is where Parley keeps everything when nobody says otherwise.
func DefaultDataDir() (string, error) {
	if d := os.Getenv("PARLEY_DATA"); d != "" {
		return filepath.Abs(d)
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place for the data directory: %w; name one with --data", err)
	}
	return filepath.Join(base, "parley"), nil
}

// instance is this process's hold on a data directory: the lock, and the socket on which commands reach it. At most
// one process has it; it is free again the moment that process is gone, however it went.
type instance struct {
	lock   *flock.Flock
	socket net.Listener
}

// claim takes hold of dir, which it makes (mode 0700) when it is not there.
func claim(dir string) (*instance, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "parley.lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be locked: %w", dir, err)
	}
	if !ok {
		return nil, ErrRunning
	}
	path, err := socketPath(dir)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	_ = os.Remove(path) // left by a process that was killed: we have the lock
	socket, err := net.Listen("unix", path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the control socket cannot be opened: %w", err), lock.Unlock())
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, socket.Close(), lock.Unlock())
	}
	return &instance{lock: lock, socket: socket}, nil
}

func (i *instance) close() error {
	return errors.Join(ignoreClosed(i.socket.Close()), i.lock.Unlock())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// socketPath is the address of the control socket of dir: inside it, or in a private directory of the system's
// temporary one where that path would be longer than a socket's may be.
func socketPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if p := filepath.Join(dir, "parley.sock"); len(p) < 100 {
		return p, nil
	}
	sum := sha256.Sum256([]byte(dir))
	private := filepath.Join(os.TempDir(), "parley-"+hex.EncodeToString(sum[:8]))
	if err := os.Mkdir(private, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(private)
	if err != nil {
		return "", err
	}
	// Anybody may make it before we do, and whoever owns it could put a socket of his there, to be told what we are.
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ours(info) {
		return "", fmt.Errorf("%s is not a private directory of ours: remove it, or choose a shorter path for the data directory", private)
	}
	return filepath.Join(private, "s"), nil
}

// dialControl connects to the control socket of the process that has dir.
func dialControl(ctx context.Context, dir string) (net.Conn, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}
