package vault

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile writes a private file, mode 0600, so that after a crash it holds all of the old or all of the new. It is for
// secrets of the program itself where there is neither a keychain nor a passphrase.
func WriteFile(path string, data []byte) error { return replaceFile(path, data) }

// Exists reports whether there is a vault in dir, also one that cannot be opened now.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, secretsFile))
	return err == nil
}

// replaceFile writes a private file so that after a crash it holds all of the old or all of the new.
func replaceFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call, and its renames are journalled
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
